internal import IssueSecrets

/// The keys, units and names that have a meaning for a template.
extension ShortWords {
    /// The keys in `key=value` whose values are sentences or kinds of events.
    static let textKeys = ShortWords([
        "msg", "message", "err", "error", "event", "reason", "cause", "level", "lvl", "severity", "type", "op",
        "action", "method",
    ])
    static let truthValues = ShortWords(["true", "false", "null", "none", "nil"])
    /// Units after a number and a space that programs choose by the size of the number.
    static let units = ShortWords([
        "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "sec", "secs", "second", "seconds", "min", "mins",
        "minute", "minutes", "hour", "hours", "day", "days", "am", "pm",
    ])
    /// Names of techniques that contain digits and are kept.
    static let terms = ShortWords([
        "utf8", "utf16", "ipv4", "ipv6", "x86", "x86_64", "amd64", "arm64", "aarch64", "i386", "i686", "sha1",
        "sha256", "sha512", "md5", "base64", "http2", "http3", "oauth2", "s3", "ec2", "k8s", "log4j", "p2p", "i2c",
        "utf-8", "utf-16", "sha-1", "sha-256", "sha-512", "h2",
    ])
    /// Endings of names of hosts and units that have one full stop only.
    static let domains = ShortWords([
        "com", "net", "org", "edu", "gov", "mil", "local", "lan", "internal", "service", "socket", "timer", "mount",
        "scope", "slice",
    ])
    static let months = ShortWords([
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "january", "february",
        "march", "april", "june", "july", "august", "october", "november", "december",
    ])
    static let weekdays = ShortWords([
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "thursday", "friday", "saturday",
        "sunday",
    ])
}
