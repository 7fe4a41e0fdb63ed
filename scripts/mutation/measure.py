# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the instrumented build: first each test alone, to learn its time and which mutants it reaches;
then, for each mutant, the tests that reach it."""

import concurrent.futures
import json
import math
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

# Fingerprints notice every change, and say nothing about which result is right. Tests of the number of threads
# compare a program with itself, for minutes.
LEFT_OUT = re.compile(r"FingerprintsTest|Thread|Determin")
SLACK_SECONDS = 3  # The CPU time that a process may take beyond a multiple of its normal time.
TIMES_NORMAL = 4
WALL_TIMES_CPU = 40  # A mutant may also wait without end.
MEMORY = 6 << 30  # A mutant may allocate without end.


def list_tests(program):
    """The names of all tests but those left out."""
    lines = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    suite, tests = "", []
    for line in lines.splitlines():
        name = line.split("#")[0].rstrip()
        if name.endswith(".") and not name.startswith(" "):
            suite = name
        elif name.startswith("  ") and "DISABLED_" not in suite + name:
            tests.append(suite + name.strip())
    return [test for test in tests if not LEFT_OUT.search(test)]


def _limits(cpu_seconds):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))


def _wait(process, wall_seconds):
    """Waits for the end of `process`, and kills it if that does not come. Returns its exit code and CPU time."""
    deadline = time.monotonic() + wall_seconds
    pause = 0.002
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)


def run(program, tests, environment, cpu_seconds):
    """Runs tests until the first fails. Returns the exit code, the CPU time, and the names of the failed tests. The
    limit is one of CPU time, so that a busy machine kills no mutant."""
    with tempfile.TemporaryDirectory(prefix="heddle_mutant") as folder, tempfile.TemporaryFile("w+", errors="replace") as out:
        command = [program, "--gtest_filter=" + ":".join(tests), "--gtest_brief=1", "--gtest_fail_fast"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=lambda: _limits(math.ceil(cpu_seconds)),
                                   env={**os.environ, "TMPDIR": folder, **environment})
        code, used = _wait(process, WALL_TIMES_CPU * cpu_seconds)
        out.seek(0)
        failed = [line.split()[3].rstrip(",") for line in out
                  if line.startswith("[  FAILED  ] ") and len(line.split()) > 3]
        return code, used, failed


def _cover(task):
    program, test = task
    with tempfile.NamedTemporaryFile("r") as report:
        code, seconds, _ = run(program, [test], {"HEDDLE_MUTANTS_REACHED": report.name}, 600)
        reached = [int(line) for line in report]
    return {"program": program, "built": os.stat(program).st_mtime_ns, "test": test, "seconds": seconds,
            "passed": code == 0, "reached": reached}


def cover(programs, path, jobs, progress):
    """Runs each test of `programs` alone, unless `path` has its results with the same program, and appends what it
    learns to this file. Returns the results of all tests."""
    known = read_coverage(path)
    tasks = [(program, test) for program in programs for test in list_tests(program) if (program, test) not in known]
    with open(path, "a") as out, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for i, done in enumerate(concurrent.futures.as_completed([pool.submit(_cover, task) for task in tasks])):
            out.write(json.dumps(done.result()) + "\n")
            out.flush()
            progress(f"coverage: {i + 1} of {len(tasks)} tests")
    known = read_coverage(path)
    return [known[program, test] for program in programs for test in list_tests(program)]


def read_coverage(path):
    if not path.exists():
        return {}
    results = [json.loads(line) for line in path.read_text().splitlines()]
    built = {program: os.stat(program).st_mtime_ns for program in {result["program"] for result in results}}
    return {(r["program"], r["test"]): r for r in results if r["built"] == built[r["program"]]}


def batches(tests, shares, kills):
    """Splits tests into runs of one program each, and orders them: first those that have killed the most mutants per
    second so far, up to 3 seconds in all, then the others by their time divided by their share. `shares` says, for each
    test, which part of the mutants that it reaches lies in the file in question. The total time of the runs about
    doubles from one to the next."""
    left, proven = 3.0, set()
    for test in sorted(tests, key=lambda t: -kills.get(t["test"], 0) / (t["seconds"] + 0.05)):
        if test["test"] in kills and test["seconds"] <= left:
            left -= test["seconds"]
            proven.add(test["test"])
    price = {id(test): test["seconds"] / share for test, share in zip(tests, shares)}
    ordered = sorted(tests, key=lambda t: (t["test"] not in proven, price[id(t)]))
    size, group, result = 0.5, [], []
    for test in ordered:
        if group and sum(t["seconds"] for t in group) + test["seconds"] > size:
            result += _by_program(group)
            group, size = [], size * 2
        group.append(test)
    return result + _by_program(group)


def _by_program(group):
    programs = dict.fromkeys(test["program"] for test in group)
    return [(program, [t for t in group if t["program"] == program]) for program in programs]


def judge(mutant, tests, shares, budget, kills):
    """Returns the verdict on a mutant, "killed", "time limit", "survived" or "not reached", and the test that decided.
    `shares` is as in batches(); `kills` is how many mutants each test has killed so far."""
    if not tests:
        return "not reached", ""
    spent = 0.0
    for program, group in batches(tests, shares, kills):
        normal = sum(test["seconds"] for test in group)
        if spent + normal > budget:
            return "survived", f"tests of {spent:.0f} s; others left out"
        spent += normal
        limit = TIMES_NORMAL * normal + SLACK_SECONDS
        code, _, failed = run(program, [test["test"] for test in group], {"HEDDLE_MUTANT": str(mutant)}, limit)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "time limit", group[0]["test"]
        if code != 0:
            return "killed", failed[0] if failed else f"exit code {code}, {group[0]['test']} or a test after it"
    return "survived", ""
