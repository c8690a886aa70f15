"""The runtimes there are: data. What a task is in each, and what it weighs, stands in the lab's catalog."""

from msgspec import structs

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

DOTNET = Tool(
    "dotnet",
    "apt install dotnet-sdk-8.0, or https://dotnet.microsoft.com",
    folders=("~/.dotnet", "/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet", "/opt/dotnet"),
    least=(8,),
)
MONO_BROUGHT_BY = "apt install mono-runtime mono-mcs, or the SDK of .NET from https://dotnet.microsoft.com"
MONO_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin", "/opt/mono*/bin")
MONO = Tool("mono", MONO_BROUGHT_BY, folders=MONO_FOLDERS, least=(6,))
MCS = Tool("mcs", MONO_BROUGHT_BY, folders=MONO_FOLDERS)

CSHARP_WAYS = (
    Runtime(
        ".NET",
        "csharp",
        (DOTNET,),
        (
            (
                *("{dotnet}", "build", "{source}/worker.csproj", "--configuration", "Release"),
                *("--output", "{out}", "--nologo", "-nodeReuse:false"),
                "-p:BaseIntermediateOutputPath={out}/obj/",
            ),
        ),
        ("{dotnet}", "{out}/worker.dll", "{engine}"),
        (("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")),
    ),
    Runtime(
        "Mono",
        "csharp",
        (MONO, MCS),
        (("{mcs}", "-langversion:7", "-optimize", "-out:{out}/worker.exe", "-recurse:{source}/*.cs"),),
        ("{mono}", "{out}/worker.exe", "{engine}"),
    ),
)

JAVA_BROUGHT_BY = "apt install openjdk-{version}-jdk-headless, or https://adoptium.net"
JAVA_FOLDERS = (
    "/usr/lib/jvm/*/bin",
    "/usr/lib64/jvm/*/bin",
    "/usr/java/*/bin",
    "/opt/*jdk*/bin",
    "/opt/java/*/bin",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home/bin",
    "/opt/homebrew/opt/openjdk*/bin",
    "~/.sdkman/candidates/java/*/bin",
    "~/.jdks/*/bin",
)
JAVAC, JAVA = (
    Tool(
        name,
        JAVA_BROUGHT_BY,
        homes=("JAVA_HOME", "JDK_HOME"),
        folders=JAVA_FOLDERS,
        least=(21,),
        stated=("release", "JAVA_VERSION"),
    )
    for name in ("javac", "java")
)

JAVA_FLAGS = (
    # The wire has standard output for itself, and nothing is left behind in the folder of whoever started it.
    *("-Xlog:disable", "-Xlog:all=warning:stderr", "-XX:+DisplayVMOutputToStderr"),
    *("-XX:-UsePerfData", "-XX:ErrorFile={out}/crash-%p.log", "-XX:-CreateCoredumpOnCrash"),
    # A heap that starts alike on any machine, may take most of its memory, and is given back; short pointers.
    *("-XX:+UseG1GC", "-XX:G1HeapRegionSize=2m", "-Xms8m", "-XX:MaxRAMPercentage=70"),
    "-XX:+UseCompressedOops",
    *("-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=10", "-XX:+ExitOnOutOfMemoryError"),
    # What is worth compiling is compiled before the worker is ready, not behind the first 100,000 tasks.
    "-XX:-BackgroundCompilation",
    # Ending 250,000 tasks took 100 MiB more than they did: each is interrupted by an exception, whose
    # stack trace fills what young objects may take.
    *("-XX:-StackTraceInThrowable", "-XX:MaxNewSize=16m"),
)

JAVA_WAYS = (
    Runtime(
        "Java",
        "java",
        (JAVAC, JAVA),
        # The two may be of different JDKs: what is compiled for the oldest that will do runs on all.
        (("{javac}", "--release", "21", "-d", "{out}", "-sourcepath", "{source}", "{source}/Main.java"),),
        ("{java}", *JAVA_FLAGS, "-cp", "{out}", "Main", "{engine}"),
    ),
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

ERLANG_BROUGHT_BY = "apt install erlang-base, or https://www.erlang.org/downloads"
ERLANG_FOLDERS = ("/usr/lib/erlang/bin", "/usr/local/lib/erlang/bin", "/opt/homebrew/bin", "/opt/erlang*/bin")
ERL = Tool(
    "erl",
    ERLANG_BROUGHT_BY,
    folders=ERLANG_FOLDERS,
    version=("-noinput", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."),
    pattern=r"(\d+)",
    least=(24,),
    stated=("releases/*/OTP_VERSION", ""),
)
ERLC = Tool("erlc", ERLANG_BROUGHT_BY, folders=ERLANG_FOLDERS, version=())
ELIXIRC = Tool(
    "elixirc",
    "apt install elixir, or https://elixir-lang.org/install",
    folders=("/usr/lib/elixir/bin", "/usr/local/lib/elixir/bin", "/opt/homebrew/bin", "/opt/elixir*/bin"),
    pattern=r"Elixir (\d+(?:\.\d+)+)",
    least=(1, 12),
    stated=("bin/elixir", "ELIXIR_VERSION"),
)

BEAM_MODULES = (
    *("tasks", "burst", "commands", "counts", "goal", "json", "main", "reporter", "spawned", "trimmer"),
    *("wire", "worker", "workload"),
)
"""What the worker is compiled of; ``tasks`` first, since others promise to behave as it says."""


def _beam(erlang: str) -> tuple[str, ...]:
    """Compile the worker, whose source is in folder ``erlang``."""
    return ("{erlc}", "-pa", "{out}", "-o", "{out}", *(f"{erlang}/cw_{name}.erl" for name in BEAM_MODULES))


def _erl(erlang: str) -> tuple[str, ...]:
    """Start the worker, with the flags that lie beside its source in folder ``erlang``."""
    return ("{erl}", "-args_file", f"{erlang}/vm.args", "-pa", "{out}", "-run", "cw_main", "main", "{engine}")


RUST_FOLDERS = ("~/.cargo/bin", "/usr/local/cargo/bin", "/opt/homebrew/bin", "/usr/lib/rust-*/bin")
RUSTC = Tool(
    "rustc",
    "https://rustup.rs, or apt install rustc",
    homes=("CARGO_HOME",),
    folders=RUST_FOLDERS,
    least=(1, 85),
)
CARGO = structs.replace(RUSTC, name="cargo", brought_by="https://rustup.rs, or apt install cargo")
LINKER = Tool("cc", "apt install gcc, with which rustc links")

# The source has no other way to learn which compiler it is built by.
RUST_VERSION = ("sh", "-c", 'RUSTC_VERSION=$("$0" --version) exec "$@"', "{rustc}")


def _cargo(feature: str) -> Runtime:
    """Return an engine of Rust that needs packages; only the worker itself is kept of what cargo builds."""
    locked = (
        *("--quiet", "--locked", "--features", feature, "--target-dir", "{out}/target"),
        *("--config", "build.rustc='{rustc}'"),
    )
    return Runtime(
        "Rust",
        "rust",
        (RUSTC, CARGO, LINKER),
        (
            # Only this one may fetch, where it must; "install" alone would ask the registry always.
            (
                *(*RUST_VERSION, "{cargo}", "build", "--release"),
                *("--manifest-path", "{source}/Cargo.toml", *locked),
            ),
            (
                *(*RUST_VERSION, "{cargo}", "install", "--offline", "--no-track"),
                *("--path", "{source}", "--root", "{out}", *locked),
            ),
            ("rm", "-r", "{out}/target"),
        ),
        ("{out}/bin/worker", "{engine}"),
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
    "csharp": CSHARP_WAYS,
    "csharp-timers": CSHARP_WAYS,
    "rust-threads": (
        Runtime(
            "Rust",
            "rust",
            (RUSTC, LINKER),
            (
                (
                    *(*RUST_VERSION, "{rustc}", "--edition", "2024", "--cfg", 'feature="threads"'),
                    *("-C", "opt-level=3", "-o", "{out}/worker", "{source}/src/main.rs"),
                ),
            ),
            ("{out}/worker", "{engine}"),
        ),
    ),
    "tokio": (_cargo("tokio"),),
    "async-std": (_cargo("async-std"),),
    "java-threads": JAVA_WAYS,
    "java-virtual": JAVA_WAYS,
    "node": NODE_WAYS,
    "node-timers": NODE_WAYS,
    "erlang": (
        Runtime(
            "Erlang",
            "erlang",
            (ERL, ERLC),
            (_beam("{source}"),),
            _erl("{source}"),
        ),
    ),
    "elixir": (
        Runtime(
            "Elixir",
            "elixir",
            (ELIXIRC, ERL, ERLC),
            (
                _beam("{source}/../erlang"),
                ("{elixirc}", "-pa", "{out}", "-o", "{out}", "{source}/async.ex"),
            ),
            _erl("{source}/../erlang"),
            shares=("erlang",),
        ),
    ),
}
"""Engine → how it can be had, the best way first: the first whose tools are all there is taken."""
