// SPDX-License-Identifier: Apache-2.0
// A plug-in that registers nothing.
