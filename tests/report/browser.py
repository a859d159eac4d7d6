#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens reports in headless Chromium and uses them as a reader would. No network is used.

    browser.py BUILD --chromium FILE --driver FILE [unittest words]
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    sys.exit("browser.py: python3-selenium is missing; ./check installs it")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from figures import model_text, page_data  # noqa: E402

ARGUMENTS = None
CHAIN_OPS = 2000


def chain_text(ops):
    """A network of many regions: every tenth op belongs to another plugin, and there are edges over many rows."""
    lines, kinds = [], itertools.cycle(["relu"] * 9 + ["sin"])
    for k, kind in zip(range(ops), kinds):
        last = f"%{k - 1}" if k else "%x"
        lines.append(f'  %{k} = add({last}, %{k - 25}) loc("join{k}")' if k >= 25 and k % 25 == 0
                     else f'  %{k} = {kind}({last}) loc("{kind}{k}")')
    return "fn main(%x: f32[8,16]) {\n" + "\n".join(lines) + f"\n  return %{ops - 1}\n}}\n"


# The slowest op by far is one that onednn refuses.
REFUSED = """fn main(%x: f32[64,512]) {
  %w = const(0.125) : f32[512,4]
  %0 = sin(%x) loc("/body/Sin")
  %1 = matmul(%0, %w) loc("/head/MatMul")
  return %1
}
"""


def candidate(plugin, ns, source, note="", chosen=False):
    return {"plugin": plugin, "name": f"{plugin}.matmul", "ns": ns, "source": source, "note": note, "chosen": chosen}


# As byoc explain --placement --json writes it.
COSTS = {"schema": "byoc.explain-placement/1", "byoc": "0", "ok": True, "remarks": [], "functions": [
    {"function": "main", "predicted_ns": 1e4, "bound_ns": 1e4, "heuristic_steps": 0, "ops": [
        {"op": "matmul", "name": "/head/MatMul", "candidates": [
            candidate("json", 8e4, "estimate"), candidate("llvm", None, "measured", "it crashes"),
            candidate("onednn", 1250, "measured", chosen=True)]},
        {"op": "add", "name": "/head/MatMul", "candidates": [candidate("json", 5, "estimate")]}]}]}  # another op


def make_report(folder, name, text, *words):
    model, page = folder / f"{name}.ir", folder / f"{name}.html"
    model.write_text(text)
    subprocess.run([ARGUMENTS.build / "bin/byoc", "report", model, "-o", page, "--min-time", "0.02", "--warmup", "0.01",
                    *words], check=True, stdout=subprocess.DEVNULL)
    return page


def open_browser(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = str(ARGUMENTS.chromium)
    words = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000",
             f"--user-data-dir={folder}/profile", "--host-resolver-rules=MAP * ~NOTFOUND"]
    for word in words + (["--no-sandbox"] if os.geteuid() == 0 else []):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(str(ARGUMENTS.driver)), options=options)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        cls.small = make_report(folder, "small", model_text(), "--compiler", "onednn,json")
        cls.both = make_report(folder, "both", model_text(), "--compiler", "onednn,json", "--vs", "compiler=json")
        cls.refused = make_report(folder, "refused", REFUSED, "--compiler", "onednn,json")
        costs = folder / "costs.json"
        costs.write_text(json.dumps(COSTS))
        cls.costs = make_report(folder, "costs", REFUSED, "--compiler", "onednn,json", "--no-run", "--costs", costs)
        cls.large = make_report(folder, "large", chain_text(CHAIN_OPS), "--compiler", "onednn,json", "--no-run")
        cls.open = make_report(folder, "open", "fn main(%x: f32[N,4]) { %0 = sin(%x) return %0 }")
        cls.browser = open_browser(folder)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.temporary.cleanup()

    def tearDown(self):
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])

    def show(self, page):
        begin = time.monotonic()
        self.browser.get(page.as_uri())
        self.assertEqual(self.browser.find_element(By.TAG_NAME, "body").get_attribute("data-ready"), "yes")
        return time.monotonic() - begin

    def data(self):
        return json.loads(self.browser.execute_script("return document.getElementById('data').textContent"))

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def node(self, text):
        for element in self.all(".graph [data-node]"):
            if text in element.find_element(By.TAG_NAME, "title").get_attribute("textContent"):
                return element
        raise AssertionError(f"no node is called {text}")

    def details(self):
        return self.one("#details").text

    def test_click_on_a_node_shows_what_explain_has(self):
        self.show(self.small)
        self.node("wave").click()
        self.assertIn('sin "wave"', self.details())
        op = next(op for op in self.data()["configurations"][0]["explain"]["ops"] if op["name"] == "wave")
        for text in [op["plugin"], op["function"]] + [opinion["reason"] for opinion in op["opinions"]]:
            self.assertIn(text, self.details())
        self.assertIn("f32[1,8,16,16]", self.details())
        self.assertEqual(len(self.all(".n.chosen")), 1)

    def test_times_are_those_of_the_data(self):
        self.show(self.small)
        configuration = self.data()["configurations"][0]
        self.node("stem/conv").click()
        region = next(r for r in configuration["bench"]["configurations"][0]["regions"] if "stem/conv" in r["nodes"])
        shown = self.browser.execute_script("return document.querySelector('#details').textContent")
        expected = self.browser.execute_script(
            "const ns = arguments[0]; return ns >= 1e6 ? (ns / 1e6).toPrecision(3) + ' ms' : ns >= 1e5 ? "
            "(ns / 1e3).toFixed(1) + ' us' : (ns / 1e3).toPrecision(3) + ' us'", region["median_ns"])
        self.assertIn(expected, shown)
        self.assertIn(f"{region['gflop_per_s']:.2f} GFLOP/s", shown)

    def test_filter_by_plugin_dims_the_others(self):
        self.show(self.small)
        self.one(".filter[data-plugin=json]").click()
        self.assertIn("dim", self.node("stem/conv").get_attribute("class"))
        self.assertNotIn("dim", self.node("wave").get_attribute("class"))
        self.one(".filter[data-plugin=json]").click()
        self.assertEqual(self.all(".dim"), [])

    def test_a_reason_leads_to_all_ops_that_have_it(self):
        self.show(self.small)
        self.node("wave").click()
        reason = self.one("#details .reason")
        text = reason.text
        reason.click()
        ops = self.data()["configurations"][0]["explain"]["ops"]
        expected = [op["name"] for op in ops if any(o["reason"] == text for o in op["opinions"])]
        same = self.one("#same")
        self.assertIn("wave", expected)
        for name in expected:
            self.assertIn(name, same.text)
        self.assertGreaterEqual(len(self.all(".n.same")), 1)
        same.find_element(By.CSS_SELECTOR, "li button").click()
        self.assertIn(f'"{expected[0]}"', self.details())

    def test_the_slowest_op_its_plugin_and_the_refusal_are_two_clicks_away(self):
        self.show(self.refused)
        configuration = self.data()["configurations"][0]
        regions = configuration["bench"]["configurations"][0]["regions"]
        slowest = max(regions, key=lambda region: region["median_ns"])
        ops = configuration["explain"]["ops"]
        heavy = next(op for op in ops if op["function"] == slowest["region"])
        refusal = next(o for o in heavy["opinions"] if o["plugin"] == "onednn")
        self.assertEqual((heavy["plugin"], refusal["verdict"]), ("json", "refused"))
        row = self.one(".ops tbody tr")                     # the first row of the table is the answer already
        for text in (heavy["op"], heavy["name"], "json", "onednn refused"):
            self.assertIn(text, row.text)
        row.click()
        for text in (f'{heavy["op"]} "{heavy["name"]}"', "json", refusal["reason"]):
            self.assertIn(text, self.details())
        next(e for e in self.all("#details .reason") if e.text == refusal["reason"]).click()
        expected = [op["name"] for op in ops if refusal in op["opinions"]]
        for name in expected:
            self.assertIn(name, self.one("#same").text)

    def test_slowest_ops_add_up_to_the_time_of_the_regions(self):
        self.show(self.small)
        shares = [float(e.text.split()[0]) for e in self.all(".ops tbody td:nth-child(5)")]
        self.assertEqual(shares[0], max(shares))
        self.assertAlmostEqual(sum(shares), 100, delta=0.06 * len(shares))

    def test_slowest_ops_follow_the_filter(self):
        self.show(self.refused)
        runners = lambda: {e.text for e in self.all(".ops tbody td:nth-child(3)")}
        self.assertEqual(runners(), {"json", "onednn"})
        self.one(".filter[data-plugin=onednn]").click()
        self.assertEqual(runners(), {"onednn"})

    def test_ops_that_differ_are_those_of_explain_diff(self):
        self.show(self.both)
        first, second = self.data()["configurations"]
        self.assertIsNone(first["changes"])
        moved = [change for change in second["changes"]["ops"] if change["change"] == "moved"]
        self.assertGreater(len(moved), 0)
        heading = next(e for e in self.all("h2") if e.text == "Ops that differ")
        table = heading.find_element(By.XPATH, "following::table[1]")
        for change in moved:
            for text in (change["name"], change["before"]["plugin"], change["after"]["plugin"], change["reason"]):
                self.assertIn(text, table.text)
        table.find_element(By.CSS_SELECTOR, "tbody tr").click()
        self.assertIn("in onednn, json", self.details())    # and how the other configuration runs it
        self.one("#details dd .link:not(.reason)").click()

    def test_fit_leaves_boxes_that_can_be_seen(self):
        self.show(self.large)
        self.one("button[aria-label='show all']").click()
        box = self.all(".n")[0].rect
        self.assertGreaterEqual(min(box["height"], box["width"]), 4)

    def test_a_map_shows_where_the_panel_is(self):
        self.show(self.large)
        place = self.one(".map")
        self.assertTrue(place.is_displayed())
        top = lambda: self.browser.execute_script("""
            const { x, y, height } = document.querySelector('.graph svg').getBoundingClientRect();
            return [...document.querySelectorAll('.n')].map((e) => e.getBoundingClientRect())
              .findIndex((r) => r.bottom > y && r.top < y + height)""")
        before = top()
        webdriver.ActionChains(self.browser).move_to_element_with_offset(place, 0, 200).click().perform()
        self.assertGreater(top(), before + 20)
        self.show(self.small)
        self.assertFalse(self.one(".map").is_displayed())

    def test_details_have_the_candidates_with_costs(self):
        self.show(self.costs)
        self.node("/head/MatMul").click()
        rows = [element.text.split("\n") for element in self.all("#details .candidates tbody tr")]
        words = [" ".join(row) for row in rows]
        self.assertEqual(len(words), 3)                     # cheapest first, one that cannot run last
        for text, expected in zip(words, (("onednn", "1.25 us", "measured", "chosen"), ("json", "80.0 us", "estimate"),
                                          ("llvm", "cannot run", "measured: it crashes"))):
            for part in expected:
                self.assertIn(part, text)
        self.node("/body/Sin").click()
        self.assertEqual(self.all("#details .candidates"), [])

    def test_tuning_names_the_log_of_each_function(self):
        if not (ARGUMENTS.build / "lib/byoc/plugins/libbyoc_llvm.so").exists():
            self.skipTest("no plugin of this build has knobs")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model, log = folder / "net.ir", folder / "net.jsonl"
            model.write_text(REFUSED)
            subprocess.run([ARGUMENTS.build / "bin/byoc", "tune", model, "--log", log, "--trials", "2", "--compiler",
                            "llvm"], check=True, capture_output=True)
            self.show(make_report(folder, "tuned", REFUSED, "--compiler", "llvm", "--tuning-log", log))
        used = self.data()["configurations"][0]["explain"]["tuning"]
        self.assertIn(str(log), [function["log"] for function in used["functions"]])
        heading = next(e for e in self.all("h2") if e.text == "Tuning")
        shown = heading.find_element(By.XPATH, "following::summary[1]")
        shown.click()
        text = heading.find_element(By.XPATH, "following::table[1]").text
        for function in used["functions"]:
            for part in (function["symbol"], function["origin"], function["log"]):
                self.assertIn(part, text)

    def test_keys_move_the_graph(self):
        self.show(self.large)
        matrix = lambda: self.one(".graph svg > g").get_attribute("transform")
        before = matrix()
        self.one(".graph svg").send_keys(Keys.ARROW_DOWN)
        moved = matrix()
        self.assertNotEqual(moved, before)
        self.one(".graph svg").send_keys("+")
        self.assertNotEqual(matrix(), moved)

    def test_search_finds_an_op(self):
        self.show(self.large)
        self.one("#search").send_keys(f"sin{CHAIN_OPS - 1}", Keys.ENTER)
        self.assertIn(f'sin "sin{CHAIN_OPS - 1}"', self.details())
        chosen = self.one(".n.chosen").rect
        graph = self.one(".graph").rect
        self.assertTrue(graph["y"] <= chosen["y"] <= graph["y"] + graph["height"], (chosen, graph))

    def test_a_large_graph_opens_in_two_seconds_with_its_regions_collapsed(self):
        seconds = min(self.show(self.large) for _ in range(3))
        self.assertLess(seconds, 2)
        closed = len(self.all(".n.closed"))
        self.assertEqual(closed, len(self.data()["configurations"][0]["graph"]["regions"]))
        self.assertGreater(closed, 100)
        self.one("button[aria-label='expand all regions']").click()
        self.assertEqual(self.all(".n.closed"), [])
        self.assertEqual(len(self.all("[data-node]")), CHAIN_OPS + 2)

    def test_one_region_is_expanded_and_nothing_overlaps(self):
        self.show(self.large)
        self.browser.execute_script(
            "document.querySelector('.n.closed').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
        self.assertEqual(len(self.all(".cluster")), 1)
        overlaps = self.browser.execute_script("""
            const boxes = [...document.querySelectorAll('.cluster, .n')].filter((e) => !e.classList.contains('cluster'))
              .map((e) => e.querySelector('rect').getBBox()).sort((a, b) => a.y - b.y);
            let n = 0;
            boxes.forEach((a, i) => boxes.slice(i + 1, i + 60).forEach((b) => {
              if (b.y < a.y + a.height - .1 && b.x < a.x + a.width - .1 && a.x < b.x + b.width - .1) ++n;
            }));
            return n;""")
        self.assertEqual(overlaps, 0)

    def test_wheel_zooms_and_buttons_fit(self):
        self.show(self.small)
        matrix = lambda: self.one(".graph svg > g").get_attribute("transform")
        before = matrix()
        self.browser.execute_script("document.querySelector('.graph svg').dispatchEvent("
                                    "new WheelEvent('wheel', {deltaY: -300, clientX: 300, clientY: 400}))")
        self.assertNotEqual(matrix(), before)
        self.one("button[aria-label='show all']").click()
        graph = self.one(".graph").rect
        for element in self.all(".n"):
            rect = element.rect
            self.assertGreaterEqual(rect["x"], graph["x"])
            self.assertLessEqual(rect["y"] + rect["height"], graph["y"] + graph["height"] + 1)

    def test_two_configurations_are_beside_each_other(self):
        self.show(self.both)
        first, second = (element.rect for element in self.all(".graph"))
        self.assertEqual(first["y"], second["y"])
        self.assertGreater(second["x"], first["x"] + first["width"])
        self.assertEqual(len(self.all(".tiles .tile")), 2)
        self.assertIn("times that of onednn, json", self.all(".tiles .tile")[1].text)

    def test_charts_lead_to_regions(self):
        self.show(self.small)
        for label in ("timeline of one run", "roofline of the kernels", "memory over the steps"):
            chart = self.one(f"svg[aria-label='{label}'] .hit")
            self.browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", chart)
            self.assertRegex(self.one("#details h2").text, "_main_|conv2d|sin|add", label)

    def test_a_model_that_does_not_compile_has_a_graph_and_the_reason(self):
        self.show(self.open)
        self.assertIn("does not compile", self.one(".tile").text)
        self.node("sin").click()
        self.assertIn("sin", self.details())

    def test_interrupted_work_has_no_times_of_zero(self):
        data = page_data(self.small)
        data["interrupted"] = True
        for region in data["configurations"][0]["bench"]["configurations"][0]["regions"]:
            region.update(median_ns=0, p5_ns=0, p95_ns=0, gflop_per_s=None)
        untimed = dict(data["configurations"][0], bench=None, trace=None, memory=None, steps=None)
        data["configurations"].append(untimed)
        page = self.small.with_name("interrupted.html")
        text = self.small.read_text(encoding="utf-8")
        begin = text.index('id="data">') + len('id="data">')
        whole = json.dumps(data).replace("<", "\\u003c")
        page.write_text(text[:begin] + whole + text[text.index("</script>", begin):], encoding="utf-8")
        self.show(page)
        self.assertIn("Interrupted: the page has what was done until then.", self.one("header").text)
        self.assertIn("not run", self.all(".tile")[1].text)
        for title in ("Slowest ops", "Kernels", "Roofline"):
            heading = next(e for e in self.all("h2") if e.text == title)
            text = heading.find_element(By.XPATH, "following::p[1]").text
            self.assertEqual(text, "Interrupted before this was timed.")

    def test_nothing_is_wider_than_the_window(self):
        for page, width in itertools.product((self.small, self.both, self.large), (1280, 800)):
            self.browser.set_window_size(width, 1000)
            self.show(page)
            wide = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(wide, 0, (page.name, width))
            cut = self.browser.execute_script(
                "return [...document.querySelectorAll('.ops')].map((box) => box.scrollWidth - box.clientWidth)")
            self.assertLessEqual(max(cut, default=0), 0, (page.name, width))
        self.browser.set_window_size(1280, 1000)

    def test_light_and_dark_differ_and_both_can_be_read(self):
        for scheme, is_dark in (("light", False), ("dark", True)):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                         {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.show(self.small)
            colours = self.browser.execute_script(
                "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
            back, text = (sum(map(int, colour[colour.index("(") + 1:-1].split(",")[:3])) for colour in colours)
            self.assertEqual(back < text, is_dark)
            self.assertGreater(abs(back - text), 500)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--chromium", type=pathlib.Path, required=True)
    parser.add_argument("--driver", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
