# SPDX-License-Identifier: Apache-2.0
"""The commands and the code of docs/gallery.md make the figures that the page shows."""

import re
import subprocess
import unittest

import heddle.program
import support

PAGE = (support.ROOT / "docs/gallery.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"!\[.*?\]\(gallery/(.*?)\)", PAGE)


class GalleryTest(unittest.TestCase):
    def test_it_shows_small_pictures_which_are_there(self):
        self.assertGreaterEqual(len(SHOWN), 8)
        pictures = support.ROOT / "docs/gallery"
        self.assertEqual(sorted(SHOWN), sorted(picture.name for picture in pictures.iterdir()))
        for name in SHOWN:
            self.assertLess((pictures / name).stat().st_size, 60_000, name)

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


if __name__ == "__main__":
    unittest.main()
