//! The settings and variables of every git command. What depends on the command, on the remote or on the machine is not here
//! (program, tools).

/// Settings of every command, which override those of the content and of the machine.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.symlinks", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("transfer.fsckObjects", "true"),
    ("transfer.bundleURI", "false"),
    ("protocol.ext.allow", "never"),
    ("http.followRedirects", "initial"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "20"),
    // A few bytes of a pack may stand for an object of gigabytes, which git holds in memory once for each thread.
    ("core.bigFileThreshold", "64m"),
    ("pack.threads", "1"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("safe.bareRepository", "all"),
    ("advice.detachedHead", "false"),
];
/// Variables of every command.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ALLOC_LIMIT", "256m"),
];
/// Variables that are 0 for every command, questions about the user's settings included: they override `trace2.*Target`, which
/// names files that git appends to.
pub(super) const NO_TRACES: &[&str] = &["GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"];
/// Variables that a connection may need, besides the `PATH`. Neither tokens nor other variables of git are inherited.
pub(super) const INHERITED: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "GNUPGHOME",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    EXEC_PATH,
    "SYSTEMROOT",
    "SystemRoot",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
    "TMP",
];
/// The folder of git's own commands.
pub(super) const EXEC_PATH: &str = "GIT_EXEC_PATH";
