# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine: munge, slurmctld, and a slurmd per worker, for one test.

All files are in one folder, whose path is short, because sockets are in it. The daemons stay in the foreground, so
that they are children of this process: they are ended by their own process numbers, and the kernel ends them when this
process is killed.
"""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def program(name):
    """The path of a daemon; most users have no /usr/sbin in PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        raise SystemExit(f"error: {name} is missing; install slurm-wlm and munge (./check does)")
    return path


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def cgroup_plugin():
    """The version that slurmd looks for; with the wrong one, jobs hang."""
    return "cgroup/v2" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "cgroup/v1"


class Cluster:
    def __init__(self, folder, workers):
        self.folder = folder
        self.workers = workers
        self.daemons = {}
        self.conf = os.path.join(folder, "slurm.conf")
        self.environment = {**os.environ, "SLURM_CONF": self.conf}
        self.user = pwd.getpwuid(os.getuid()).pw_name
        is_root = os.getuid() == 0
        self.munge_user = "munge" if is_root else None

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def __enter__(self):
        try:
            self.start_munge()
            self.write_conf()
            self.start("slurmctld", [program("slurmctld"), "-D", "-i", "-f", self.conf])
            for worker in self.workers:
                self.start_worker(worker)
            self.wait("machines that are idle",
                      lambda: self.run("sinfo", "-h", "-N", "-o", "%N %t").split() ==
                      [word for worker in self.workers for word in (worker, "idle")])
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, name, words, **more):
        log = open(self.path(f"{name}.out"), "ab")
        self.daemons[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              cwd=self.folder, env=self.environment, start_new_session=True,
                                              preexec_fn=end_with_parent, **more)
        log.close()

    def start_munge(self):
        os.chmod(self.folder, 0o711)                          # clients of all users reach the socket
        home = self.path("munge")
        os.mkdir(home, 0o711)
        key = os.path.join(home, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        more = {}
        if self.munge_user:
            entry = pwd.getpwnam(self.munge_user)
            for path in (home, key):
                os.chown(path, entry.pw_uid, entry.pw_gid)
            more = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.start("munged", [program("munged"), "--foreground", f"--key-file={key}", f"--socket={home}/socket",
                              f"--pid-file={home}/pid", f"--log-file={home}/log", f"--seed-file={home}/seed"], **more)
        self.wait("munge", lambda: os.path.exists(f"{home}/socket"))

    def write_conf(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(1 + len(self.workers))
        for name in ("state", *(f"spool-{worker}" for worker in self.workers)):
            os.mkdir(self.path(name))
        lines = [
            "ClusterName=byoc", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={ports[0]}",
            f"SlurmUser={self.user}", f"SlurmdUser={self.user}", "AuthType=auth/munge", "CredType=cred/munge",
            f"AuthInfo=socket={self.path('munge', 'socket')}", f"StateSaveLocation={self.path('state')}",
            f"SlurmctldPidFile={self.path('slurmctld.pid')}", f"SlurmdPidFile={self.path('slurmd-%n.pid')}",
            f"SlurmdSpoolDir={self.path('spool-%n')}", f"SlurmctldLogFile={self.path('slurmctld.log')}",
            f"SlurmdLogFile={self.path('slurmd-%n.log')}", "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none", "SelectType=select/linear",
            "MpiDefault=none", "ReturnToService=2", "SlurmdParameters=config_overrides", "KillWait=2",
            "SlurmdTimeout=10", "InactiveLimit=0", "MinJobAge=30",
        ]
        for worker, port in zip(self.workers, ports[1:]):
            lines.append(f"NodeName={worker} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN")
        lines.append(f"PartitionName=test Nodes={','.join(self.workers)} Default=YES MaxTime=INFINITE State=UP")
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(self.path("cgroup.conf"), "w", encoding="utf-8") as file:
            file.write(f"CgroupPlugin={cgroup_plugin()}\n")

    def start_worker(self, worker):
        self.start(worker, [program("slurmd"), "-D", "-N", worker, "-f", self.conf])

    def run(self, *words):
        """Runs a command of Slurm and returns its output; empty when it fails."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""

    def wait(self, what, condition, seconds=90):
        end = time.monotonic() + seconds
        while not condition():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"no {what}; ended: {ended}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".out", ".log")):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    texts.append(f"--- {name}\n" + "".join(file.readlines()[-15:]))
        return "\n".join(texts)

    def kill(self, name):
        """Kills a daemon, as the loss of its machine does."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def end(self):
        if "slurmctld" in self.daemons:
            self.run("scancel", "--quiet", f"--user={self.user}")
            end = time.monotonic() + 20
            while time.monotonic() < end and self.run("squeue", "-h"):
                time.sleep(0.2)
        for name in reversed(list(self.daemons)):             # munge last
            daemon = self.daemons.pop(name)
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
