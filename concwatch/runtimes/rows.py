"""The runtimes there are: data. What a task is in each, and what it weighs, stands in the lab's catalog."""

from concwatch.runtimes.runtime import Runtime
from concwatch.runtimes.tool import Tool

GO = Tool(
    "go",
    "apt install golang-go, or https://go.dev/dl",
    homes=("GOROOT",),
    folders=("/usr/local/go/bin", "/usr/lib/go*/bin", "~/go/bin", "~/sdk/go*/bin", "/opt/go/bin"),
    version=("env", "GOVERSION"),
    least=(1, 22),
)

NODE = Tool(
    "node",
    "apt install nodejs, or https://nodejs.org",
    folders=(
        "~/.nvm/versions/node/*/bin",
        "~/.local/share/fnm/node-versions/*/installation/bin",
        "~/.fnm/node-versions/*/installation/bin",
        "~/.volta/bin",
        "/opt/homebrew/bin",
        "/usr/local/bin",
        "/opt/node*/bin",
    ),
    least=(18,),
)

NODE_WAYS = (
    Runtime(
        "Node.js",
        "node",
        (NODE,),
        (),
        # A million async functions take 0.9 GB of V8's heap, which may be no larger than 2 GB by itself.
        ("{node}", "--expose-gc", "--max-old-space-size=4096", "{source}/main.mjs", "{engine}"),
    ),
)

RUNTIMES: dict[str, tuple[Runtime, ...]] = {
    "go": (
        Runtime(
            "Go",
            "go",
            (GO,),
            (("{go}", "build", "-C", "{source}", "-trimpath", "-buildvcs=false", "-o", "{out}/worker", "."),),
            ("{out}/worker", "{engine}"),
            (("GOFLAGS", "-mod=mod"), ("GOTOOLCHAIN", "local"), ("GOWORK", "off")),
        ),
    ),
    "node": NODE_WAYS,
    "node-timers": NODE_WAYS,
}
"""Engine → how it can be had, the best way first: the first whose tools are all there is taken."""
