# SPDX-License-Identifier: Apache-2.0
"""The control of measurements with several threads: whether the machine gives these a core each.

The host of a virtual machine may let two of its processors share one core for minutes, in which two threads
compute as much as one. `bench_cores` measures the multiply-adds of one thread and of all at the same time. It also
measures how long a value takes from one processor to another and back: some 50 ns where they have a cache in common,
several times that where the host put them on cores that have not, and then loops of some microseconds take longer.
"""

from turns import Child, spread


class Control:
    """Reads the machine before and after each round, and decides which rounds count."""

    def __init__(self, child, keeps_all=False):
        self.child, self.keeps_all = child, keeps_all
        self.readings, self.left_out = [], []

    def read(self):
        self.readings.append(self.child.ask("measure"))

    def accepts(self):
        """Reads the machine after a round. Returns whether the round counts: both readings around it are high enough."""
        self.read()
        return self.keeps_all or all(map(is_enough, self.readings[-2:]))

    def record(self):
        """Returns what the report has: all readings, and how many rounds were run, left out, and too slow."""
        pairs = list(zip(self.readings, self.readings[1:]))
        short = sum(not (is_enough(a) and is_enough(b)) for a, b in pairs)
        return {"readings": self.readings, "speedup": spread([reading["speedup"] for reading in self.readings]),
                "round_trip_ns": spread([reading["round_trip_ns"] for reading in self.readings]),
                "limit": self.readings[0]["limit"], "rounds": len(pairs), "short_rounds": short,
                "left_out": len(self.left_out), "left_out_ns": self.left_out}


def is_enough(reading):
    """Returns true, too, where the processor has no multiply-adds that could be measured."""
    return reading["one_gflop_per_s"] == 0 or reading["speedup"] >= reading["limit"]


def start_control(options, threads):
    """Returns the control of a number of threads; None for one, and beside busy processes, which take cores anyway."""
    if threads == 1 or options.busy:
        return None
    command = [str(options.build / "bin" / "bench_cores"), "--threads", str(threads)]
    return Control(Child("bench_cores", command), options.all_rounds)


def control_line(control):
    s, trip = control["speedup"], control["round_trip_ns"]
    return (f"{s['median']:.2f} times one thread's multiply-adds, {s['min']:.2f} to {s['max']:.2f}; "
            f"{control['short_rounds']} of {control['rounds']} rounds below {control['limit']:.1f}, "
            f"{control['left_out']} left out; round trip between two processors {trip['median']:.0f} ns, "
            f"{trip['min']:.0f} to {trip['max']:.0f}")


def has_no_full_round(result):
    """Returns whether no round of a measurement had the cores, so that its figures are those of all rounds."""
    control = result.get("control")
    return bool(control) and control["short_rounds"] == control["rounds"]


def trip_note(controls, threads):
    """Returns a sentence about the time of a value from one processor to another and back, over all rounds."""
    trips = [control["round_trip_ns"] for control in controls]
    median = spread([trip["median"] for trip in trips])["median"]
    return (f"With {threads} threads, a value took {median:.0f} ns from one processor to another and back, "
            f"{min(trip['min'] for trip in trips):.0f} to {max(trip['max'] for trip in trips):.0f}.")


def control_notes(results):
    """Returns a sentence per number of threads about rounds that were left out, for below the table."""
    notes = []
    for threads in sorted({result["threads"] for result in results if "control" in result}):
        controls = [result["control"] for result in results if result["threads"] == threads and "control" in result]
        counts = {key: sum(control[key] for control in controls) for key in ("rounds", "short_rounds", "left_out")}
        notes.append(f"In {counts['short_rounds']} of {counts['rounds']} rounds, {threads} threads had less than "
                     f"{controls[0]['limit']:.1f} times one's multiply-adds; {counts['left_out']} were left out.")
        notes.append(trip_note(controls, threads))
    if any(map(has_no_full_round, results)):
        notes.append("Rows with * have such rounds alone.")
    return notes
