# SPDX-License-Identifier: Apache-2.0
"""The code of docs/gallery.md, docs/published.md, docs/collectives.md and docs/spraying.md makes the figures that the pages show."""

import re
import subprocess
import unittest

import heddle
import heddle.program
import support

PAGE = (support.ROOT / "docs/gallery.md").read_text(encoding="utf-8")
PUBLISHED = (support.ROOT / "docs/published.md").read_text(encoding="utf-8")
SPRAYING = (support.ROOT / "docs/spraying.md").read_text(encoding="utf-8")
COLLECTIVES = (support.ROOT / "docs/collectives.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"!\[.*?\]\(gallery/(.*?)\)", PAGE)


def check_pictures(test, shown, folder):
    """All pictures of a folder are shown, and small."""
    pictures = support.ROOT / "docs" / folder
    test.assertEqual(sorted(shown), sorted(picture.name for picture in pictures.iterdir()))
    for name in shown:
        test.assertLess((pictures / name).stat().st_size, 60_000, name)


def run_code(page, name):
    """Runs the page's only block of Python; returns what it defines."""
    code, = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(compile(code, name, "exec"), names)  # pylint: disable=exec-used
    return names


class GalleryTest(unittest.TestCase):
    def test_it_shows_small_pictures_which_are_there(self):
        self.assertGreaterEqual(len(SHOWN), 8)
        check_pictures(self, SHOWN, "gallery")

    @unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
    def test_its_commands_and_code_make_them(self):
        names = {}
        with support.folder() as folder:
            (folder / "configs").symlink_to(support.ROOT / "configs")
            for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL):
                if language == "python":
                    exec(compile(text, "docs/gallery.md", "exec"), names)  # pylint: disable=exec-used
                else:
                    command = text.strip().replace("heddle", f'"{heddle.program.find()}"', 1)
                    subprocess.run(command, shell=True, check=True, capture_output=True)
            self.assertEqual(sorted(SHOWN), sorted(picture.name for picture in folder.glob("*.png")))
            for name in SHOWN:
                self.assertTrue((folder / name).read_bytes().startswith(b"\x89PNG"))


class PublishedTest(unittest.TestCase):
    def test_it_shows_small_pictures_which_are_there(self):
        check_pictures(self, re.findall(r"!\[.*?\]\(published/(.*?)\)", PUBLISHED), "published")

    @unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
    def test_its_code_draws_every_experiment(self):
        names = run_code(PUBLISHED, "docs/published.md")
        # The axis that makes the panels.
        panels = {"conweave_fig12_13": "transport.recovery", "conga_fig11": "workload[0].sizes"}
        with support.folder() as folder:
            for config in sorted((support.ROOT / "configs/published").glob("*.yaml")):
                heddle.sweep(config, out=folder / config.stem, scale="ci", progress=False)
                picture = folder / f"{config.stem}.png"
                names["draw"](folder / config.stem, "avg_fct_us", panels.get(config.stem), picture)
                self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))


class CollectivesTest(unittest.TestCase):
    def test_it_shows_small_pictures_which_are_there(self):
        check_pictures(self, re.findall(r"!\[.*?\]\(collectives/(.*?)\)", COLLECTIVES), "collectives")

    @unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
    def test_its_code_draws_both_experiments(self):
        names = run_code(COLLECTIVES, "docs/collectives.md")
        with support.folder() as folder:
            for name in ("ranks64", "ranks512"):
                heddle.sweep(support.ROOT / f"configs/collectives/{name}.yaml", out=folder / name, scale="ci",
                             progress=False)
                names["draw"](folder / name, folder / f"{name}.png")
                self.assertTrue((folder / f"{name}.png").read_bytes().startswith(b"\x89PNG"))


class SprayingTest(unittest.TestCase):
    def test_it_shows_a_small_picture_which_is_there(self):
        check_pictures(self, re.findall(r"!\[.*?\]\(spraying/(.*?)\)", SPRAYING), "spraying")

    @unittest.skipUnless(support.has("matplotlib"), "matplotlib is not installed")
    def test_its_code_draws_the_experiment(self):
        names = run_code(SPRAYING, "docs/spraying.md")
        with support.folder() as folder:
            heddle.sweep(support.ROOT / "configs/spraying/hosts1024.yaml", out=folder / "sweep", scale="ci",
                         progress=False)
            names["draw"](folder / "sweep", folder / "hosts1024.png")
            self.assertTrue((folder / "hosts1024.png").read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
