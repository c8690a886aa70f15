"""The table of runtimes. What a task is in each, and how much memory it takes, is in the lab's catalog."""

from concwatch.portable.build.runtime import Runtime
from concwatch.portable.build.tool import Tool


def words(*commands: str) -> tuple[tuple[str, ...], ...]:
    """Split commands into words; a path that later replaces a placeholder stays one word."""
    return tuple(tuple(command.split()) for command in commands)


def tool(name: str, install_hint: str, folders: str, least: tuple[int, ...] = (), **more: object) -> Tool:
    """Return a tool that is searched for in ``folders``, separated by spaces."""
    return Tool(name, install_hint, folders=tuple(folders.split()), least=least, **more)  # type: ignore[arg-type]


GO = tool(
    "go",
    "apt install golang-go, or https://go.dev/dl",
    "/usr/local/go/bin /usr/lib/go*/bin ~/go/bin ~/sdk/go*/bin /opt/go/bin",
    (1, 22),
    homes=("GOROOT",),
    version=("env", "GOVERSION"),
)

DOTNET = tool(
    "dotnet",
    "apt install dotnet-sdk-8.0, or https://dotnet.microsoft.com",
    "~/.dotnet /usr/share/dotnet /usr/lib/dotnet /usr/local/share/dotnet /opt/dotnet",
    (8,),
)
MONO = tool(
    "mono",
    "apt install mono-runtime mono-mcs, or the SDK of .NET from https://dotnet.microsoft.com",
    "/opt/homebrew/bin /usr/local/bin /opt/mono*/bin",
    (6,),
)
MCS = MONO._replace(name="mcs", least=())

CSHARP_WAYS = (
    Runtime(
        ".NET",
        "csharp",
        (DOTNET,),
        words(
            "{dotnet} build {source}/worker.csproj --configuration Release --output {out} --nologo"
            " -nodeReuse:false -p:BaseIntermediateOutputPath={out}/obj/"
        ),
        ("{dotnet}", "{out}/worker.dll", "{engine}"),
        (("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")),
    ),
    Runtime(
        "Mono",
        "csharp",
        (MONO, MCS),
        words("{mcs} -langversion:7 -optimize -out:{out}/worker.exe -recurse:{source}/*.cs"),
        ("{mono}", "{out}/worker.exe", "{engine}"),
    ),
)

JAVA = tool(
    "java",
    "apt install openjdk-{version}-jdk-headless, or https://adoptium.net",
    "/usr/lib/jvm/*/bin /usr/lib64/jvm/*/bin /usr/java/*/bin /opt/*jdk*/bin /opt/java/*/bin"
    " /Library/Java/JavaVirtualMachines/*/Contents/Home/bin"
    " ~/Library/Java/JavaVirtualMachines/*/Contents/Home/bin"
    " /opt/homebrew/opt/openjdk*/bin ~/.sdkman/candidates/java/*/bin ~/.jdks/*/bin",
    (21,),
    homes=("JAVA_HOME", "JDK_HOME"),
    version_file=("release", "JAVA_VERSION"),
)
JAVAC = JAVA._replace(name="javac")

JAVA_FLAGS = (
    # Standard output is the wire; no file may be left in the working directory.
    *("-Xlog:disable", "-Xlog:all=warning:stderr", "-XX:+DisplayVMOutputToStderr"),
    *("-XX:-UsePerfData", "-XX:ErrorFile={out}/crash-%p.log", "-XX:-CreateCoredumpOnCrash"),
    # A heap that starts at the same size on any host, may take most of its memory, and shrinks.
    *("-XX:+UseG1GC", "-XX:G1HeapRegionSize=2m", "-Xms8m", "-XX:MaxRAMPercentage=70"),
    "-XX:+UseCompressedOops",
    *("-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=10", "-XX:+ExitOnOutOfMemoryError"),
    # Compile hot code before the worker is ready, not while the first 100,000 tasks start.
    "-XX:-BackgroundCompilation",
    # Without these, cancelling 250,000 tasks took 100 MiB more than the tasks did: each is interrupted by an
    # exception, and the stack traces fill the young generation.
    *("-XX:-StackTraceInThrowable", "-XX:MaxNewSize=16m"),
)

JAVA_WAYS = (
    Runtime(
        "Java",
        "java",
        (JAVAC, JAVA),
        # The two may be from different JDKs: code compiled for the oldest supported release runs on all.
        words("{javac} --release 21 -d {out} -sourcepath {source} {source}/Main.java"),
        ("{java}", *JAVA_FLAGS, "-cp", "{out}", "Main", "{engine}"),
    ),
)

NODE = tool(
    "node",
    "apt install nodejs, or https://nodejs.org",
    "~/.nvm/versions/node/*/bin ~/.local/share/fnm/node-versions/*/installation/bin"
    " ~/.fnm/node-versions/*/installation/bin ~/.volta/bin /opt/homebrew/bin /usr/local/bin /opt/node*/bin",
    (18,),
)

NODE_WAYS = (
    Runtime(
        "Node.js",
        "node",
        (NODE,),
        (),
        # A million async functions take 0.9 GB of V8's heap, whose default limit is 2 GB.
        ("{node}", "--expose-gc", "--max-old-space-size=4096", "{source}/main.mjs", "{engine}"),
    ),
)

ERL = tool(
    "erl",
    "apt install erlang-base, or https://www.erlang.org/downloads",
    "/usr/lib/erlang/bin /usr/local/lib/erlang/bin /opt/homebrew/bin /opt/erlang*/bin",
    (24,),
    version=("-noinput", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."),
    pattern=r"(\d+)",
    version_file=("releases/*/OTP_VERSION", ""),
)
ERLC = Tool("erlc", ERL.install_hint, folders=ERL.folders, version=())
ELIXIRC = tool(
    "elixirc",
    "apt install elixir, or https://elixir-lang.org/install",
    "/usr/lib/elixir/bin /usr/local/lib/elixir/bin /opt/homebrew/bin /opt/elixir*/bin",
    (1, 12),
    pattern=r"Elixir (\d+(?:\.\d+)+)",
    version_file=("bin/elixir", "ELIXIR_VERSION"),
)

BEAM_MODULES = (
    "tasks burst commands connection counts goal json main reporter spawned trimmer wire worker workload"
)
"""Modules to compile; ``tasks`` first, since it defines a behaviour that others implement."""


def _beam(erlang: str) -> str:
    """Return the command that compiles the worker from the source in folder ``erlang``."""
    return " ".join(
        ["{erlc} -pa {out} -o {out}", *(f"{erlang}/cw_{name}.erl" for name in BEAM_MODULES.split())]
    )


# The virtual machine does not raise the limit on open files, and reads it when it starts. It takes 10 bytes
# for each file that it may open; a million are as many as it may have tasks.
_MOST_FILES = (
    'most=$(ulimit -Hn); [ "$most" -le 1048576 ] 2>/dev/null || most=1048576;'
    ' (ulimit -Sn "$most") 2>/dev/null && ulimit -Sn "$most"; exec "$0" "$@"'
)


def _erl(erlang: str) -> tuple[str, ...]:
    """Return the command that starts it, with the flags from ``vm.args`` and many open files."""
    start = f"{{erl}} -args_file {erlang}/vm.args -pa {{out}} -run cw_main main {{engine}}"
    return ("sh", "-c", _MOST_FILES, *start.split())


RUSTC = tool(
    "rustc",
    "https://rustup.rs, or apt install rustc",
    "~/.cargo/bin /usr/local/cargo/bin /opt/homebrew/bin /usr/lib/rust-*/bin",
    (1, 85),
    homes=("CARGO_HOME",),
)
CARGO = RUSTC._replace(name="cargo", install_hint="https://rustup.rs, or apt install cargo")
LINKER = Tool("cc", "apt install gcc, with which rustc links")


def _rust(*commands: str) -> tuple[tuple[str, ...], ...]:
    """Return commands that have RUSTC_VERSION in the environment: the source reads it when it is compiled."""
    with_version = ("sh", "-c", 'RUSTC_VERSION=$("$0" --version) exec "$@"', "{rustc}")
    return tuple((*with_version, *command) for command in words(*commands))


def _cargo(feature: str) -> Runtime:
    """Return an engine in Rust that needs packages; of what cargo builds only the worker is kept."""
    locked = f"--quiet --locked --features {feature} --target-dir {{out}}/target"
    locked += " --config build.rustc='{rustc}'"
    place = "--path {source} --root {out}"
    return Runtime(
        "Rust",
        "rust",
        (RUSTC, CARGO, LINKER),
        _rust(
            # Only "build" may download packages; "install" without --offline would always query the registry.
            f"{{cargo}} build --release --manifest-path {{source}}/Cargo.toml {locked}",
            f"{{cargo}} install --offline --no-track {place} {locked}",
        )
        + words("rm -r {out}/target"),
        ("{out}/bin/worker", "{engine}"),
    )


RUNTIMES: dict[str, tuple[Runtime, ...]] = {
    "go": (
        Runtime(
            "Go",
            "go",
            (GO,),
            words("{go} build -C {source} -trimpath -buildvcs=false -o {out}/worker ."),
            ("{out}/worker", "{engine}"),
            # With cgo, package net would link the C library where there is a C compiler: 1.4 MB more.
            (
                ("GOFLAGS", "-mod=mod"),
                ("GOTOOLCHAIN", "local"),
                ("GOWORK", "off"),
                ("CGO_ENABLED", "0"),
            ),
        ),
    ),
    "csharp": CSHARP_WAYS,
    "csharp-timers": CSHARP_WAYS,
    "rust-threads": (
        Runtime(
            "Rust",
            "rust",
            (RUSTC, LINKER),
            _rust(
                '{rustc} --edition 2024 --cfg feature="threads" -C opt-level=3'
                " -o {out}/worker {source}/src/main.rs"
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
    "erlang": (Runtime("Erlang", "erlang", (ERL, ERLC), words(_beam("{source}")), _erl("{source}")),),
    "elixir": (
        Runtime(
            "Elixir",
            "elixir",
            (ELIXIRC, ERL, ERLC),
            words(_beam("{source}/../erlang"), "{elixirc} -pa {out} -o {out} {source}/async.ex"),
            _erl("{source}/../erlang"),
            shares=("erlang",),
        ),
    ),
}
"""Engine → the ways to build it, best first: the first one whose tools are all found is used."""
