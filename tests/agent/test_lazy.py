"""How the agent starts while the program goes on with its own work."""

import subprocess
from pathlib import Path

import pytest

import concwatch
from tests.agent_driver import EVERY

pytestmark = pytest.mark.real

IMPORTS = """
import gc, os, sys
folder, package = sys.argv[1:]
sys.path[:0] = [folder, package]
from concwatch.portable.agent.attaching import lazy
lazy.PATIENCE = 0
names = iter(["module%d" % number for number in range(20_000)])
def import_new():
    name = next(names)
    open(os.path.join(folder, name + ".py"), "w").close()
    __import__(name)
class Starts(lazy.LazyStart):
    count = 0
    def start(self):
        self.count += 1
        import_new()
starts = Starts("no address", None)
gc.callbacks.append(starts._collected)
for threshold in range(1, 60):  # the collection comes at each place of an import in turn
    gc.disable()
    gc.collect(1)
    gc.set_threshold(threshold, 1000, 1000)
    gc.enable()
    import_new()
gc.disable()
print(starts.count > 0, lazy.ERRORS.changed)
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_a_start_by_a_garbage_collection_does_not_harm_an_import(python, tmp_path):
    package = str(Path(concwatch.__file__).parent.parent)
    command = [python, "-c", IMPORTS, str(tmp_path), package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True False\n", "")
