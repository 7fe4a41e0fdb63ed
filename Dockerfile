# SPDX-License-Identifier: Apache-2.0
# An image with heddle and the libraries that it needs (docs/containers.md). The first stage compiles and makes
# the Debian package, the second installs it: compilers and sources stay in the first.
FROM debian:12-slim AS build
WORKDIR /heddle
COPY scripts/setup scripts/setup
RUN scripts/setup git dpkg-dev
COPY . .
RUN cmake --preset release -DBUILD_TESTING=OFF -DHEDDLE_BENCH=OFF && \
    cmake --build --preset release && \
    cpack --config build/release/CPackConfig.cmake && \
    mkdir /packages && mv build/release/heddle_*.deb /packages

FROM debian:12-slim
# --build-arg OPTIONS=--install-recommends adds Python and its packages for heddle report.
ARG OPTIONS=--no-install-recommends
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    apt-get update && \
    apt-get install -y $OPTIONS /packages/heddle_*.deb && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["heddle"]
CMD ["--help"]
