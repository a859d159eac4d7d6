#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""byoc tune --slurm on two machines of a cluster on this one.

    slurm_test.py BUILD

A worker is killed, then a whole machine; in both cases all points must be measured and none lost. Exits with 1 and
the logs of the daemons when something is wrong.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import Cluster

MODEL = "fn main(%x: f32[4096]) {\n  %0 = relu(%x)\n  return %0\n}\n"
HOW = ("right", "wrong", "segv")
WORK = [str(3000000 * k) for k in range(16, 0, -1)]            # milliseconds each, so that kills come in the middle
DEADLINE_S = 330                                              # less than ctest's, so that daemons are ended


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


class Tuner:
    """A process of byoc tune --slurm with the plugin knobby."""

    def __init__(self, build, cluster, log, work, *flags):
        self.log = log
        model = cluster.path("m.ir")
        with open(model, "w", encoding="utf-8") as file:
            file.write(MODEL)
        self.points = {(how, w) for how in HOW for w in work}
        words = [os.path.join(build, "bin/byoc"), "tune", model, "--observations", "none", "--log", log,
                 "--compiler", "knobby", "--default", "json",
                 "--plugin", os.path.join(build, "tests/unit/tuner_measure/libbyoc_knobby.so"),
                 "--plugin-option", "knobby.how=" + ",".join(HOW), "--plugin-option", "knobby.work=" + ",".join(work),
                 # Other processes use this machine too, so its speed changes.
                 "--slurm-drift", "1000", "--run-limit", "20", "--trials", str(2 * len(self.points)), "--json", *flags]
        self.process = subprocess.Popen(words, env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def records(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def wait_for(self, what, condition):
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"it ended before {what}: {self.process.communicate()}")
            time.sleep(0.01)

    def folder(self):
        return glob.glob(glob.escape(self.log) + ".slurm-*")[0]

    def worker(self, number):
        """The state of a worker."""
        with open(f"{self.folder()}/state-{number}.json", encoding="utf-8") as file:
            return json.load(file)

    def of_worker(self, number):
        """The records that the log has of a worker so far."""
        if not glob.glob(glob.escape(self.log) + f".slurm-*/state-{number}.json"):
            return []
        pid = self.worker(number)["pid"]
        return [record for record in self.records() if record["worker"].endswith(f":{pid}")]

    def finish(self):
        out, err = self.process.communicate()
        check(self.process.returncode == 0, "exit code", self.process.returncode, out, err)
        return json.loads(out), err

    def check_nothing_is_lost(self, report):
        records = self.records()
        seen = {(record["point"]["how"], record["point"]["work"]) for record in records}
        check(seen == self.points, "points without a record:", self.points - seen)
        for record in records:
            check((record["error"] == "") == (record["point"]["how"] == "right"), record)
            check(record["machine"] and record["worker"], "no machine:", record)
        check(report["measured"] == len(self.points), report["measured"], "trials for", len(self.points), "points")
        check(report["tasks"][0]["best"]["how"] == "right", report["tasks"][0])
        check(not glob.glob(glob.escape(self.log) + ".slurm-*"), "the folder for exchange is left")
        return records


def kills_a_worker(build, cluster):
    """A worker's process is killed after some measurements of it are in the log."""
    with Tuner(build, cluster, cluster.path("a.jsonl"), WORK, "--slurm=test") as tuner:
        tuner.wait_for("worker 1 had records", lambda: tuner.of_worker(1))
        pid, host = tuner.worker(1)["pid"], tuner.worker(1)["host"]
        check(host in cluster.workers, "worker 1 is on", host)
        before = tuner.records()
        os.kill(pid, signal.SIGKILL)
        report, err = tuner.finish()
    records = tuner.check_nothing_is_lost(report)
    check(records[:len(before)] == before, "records of before have changed")
    check(any(record["worker"].endswith(f":{pid}") for record in records), "none of the killed worker")
    check("worker 1" in err and "it has ended" in err, err)
    check(report["remarks"], report)
    cluster.wait("end of all jobs", lambda: not cluster.run("squeue", "-h"))
    print(f"a killed worker: {len(records)} records, {len(tuner.points)} points, "
          f"workers {sorted({record['worker'] for record in records})}")


def loses_a_machine(build, cluster):
    """The daemon of a machine and the worker there are killed; points are compiled on the tuner's machine."""
    with Tuner(build, cluster, cluster.path("b.jsonl"), WORK, "--slurm", "--slurm-build=here") as tuner:
        tuner.wait_for("worker 1 had records", lambda: tuner.of_worker(1))
        nodes = cluster.run("squeue", "-h", "--array", "--format=%K %N").split()
        node = nodes[nodes.index("1") + 1]
        pid = tuner.worker(1)["pid"]
        cluster.kill(node)
        os.kill(pid, signal.SIGKILL)
        report, _ = tuner.finish()
    records = tuner.check_nothing_is_lost(report)
    check(all(record["build_ns"] == 0 for record in records), "a worker compiled a point")
    print(f"a lost machine, {node}: {len(records)} records, {len(tuner.points)} points")


def names_a_wrong_partition(build, cluster):
    with Tuner(build, cluster, cluster.path("c.jsonl"), ["1"], "--slurm=nowhere") as tuner:
        out, err = tuner.process.communicate()
    check(tuner.process.returncode == 1, out, err)
    check("sbatch failed" in err and "partition" in err, err)
    check(not glob.glob(glob.escape(tuner.log) + ".slurm-*"), "the folder for exchange is left")


def main():
    build = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="byoc-slurm-", dir="/tmp")

    def give_up(*_):
        raise TimeoutError(f"not done after {DEADLINE_S} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGTERM, give_up)
    signal.alarm(DEADLINE_S)
    try:
        with Cluster(folder, ["w1", "w2"]) as cluster:
            try:
                names_a_wrong_partition(build, cluster)
                kills_a_worker(build, cluster)
                loses_a_machine(build, cluster)
            except (AssertionError, TimeoutError):
                print(cluster.logs(), file=sys.stderr)
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
