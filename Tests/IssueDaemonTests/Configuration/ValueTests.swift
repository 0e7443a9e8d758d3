import IssueCore
import Testing

@testable import IssueDaemon

@Suite("Syntax of configuration values")
struct ValueTests {
    @Test(
        "Durations use systemd's syntax",
        arguments: [
            ("5", Duration.seconds(5)), ("5s", .seconds(5)), ("2min 30s", .seconds(150)), ("2min30s", .seconds(150)),
            ("7d", .seconds(604_800)), ("1h", .seconds(3600)), ("500ms", .milliseconds(500)), ("1.5h", .seconds(5400)),
            ("1w", .seconds(604_800)), ("250us", .microseconds(250)), ("0", .zero), ("2 h", .seconds(7200)),
            ("55s500ms", .milliseconds(55_500)), ("1 hour 2 minutes", .seconds(3720)),
        ])
    func durations(text: String, duration: Duration) {
        #expect(DurationText.parse(text) == duration)
    }

    @Test(
        "Invalid durations are rejected",
        arguments: [
            "", " ", "s", "-5s", "5x", "5 s s", "1..5s", "1.s", ".5s", "5S", "+5", "٣s", "0x10", "1e3",
            "99999999999999999999s", "300000000d", "9223372036854775807s", "1,5s", "infinity",
        ])
    func noDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        "Sizes use systemd's syntax",
        arguments: [
            ("64K", 65_536), ("1G", 1 << 30), ("1.5M", 1_572_864), ("512", 512), ("512B", 512), ("2 T", 2 << 40),
            ("0", 0),
        ])
    func sizes(text: String, bytes: Int) {
        #expect(SizeText.parse(text) == Int64(bytes))
    }

    @Test(
        "Invalid sizes are rejected",
        arguments: ["", "K", "-1K", "1KB", "1k", "1KiB", "1 2", "9999999999T", "99999999999999999999", "1.K", "٣K"])
    func noSizes(text: String) {
        #expect(SizeText.parse(text) == nil)
    }

    @Test(
        "A rate is a count per duration",
        arguments: [
            ("1/5min", Rate(1, per: .seconds(300))), ("60/min", Rate(60, per: .seconds(60))),
            ("100/15min", Rate(100, per: .seconds(900))), ("5 / s", Rate(5, per: .seconds(1))),
            ("1/1h 30min", Rate(1, per: .seconds(5400))), ("0", .unlimited), ("0/min", .unlimited),
        ])
    func rates(text: String, rate: Rate) {
        #expect(RateText.parse(text) == rate)
    }

    @Test(
        "Invalid rates are rejected",
        arguments: [
            "", "/", "5", "5/", "/min", "-1/min", "5/5", "5/0s", "5/min/s", "1.5/s", "5/x", "99999999999/s", "1/1us",
        ])
    func noRates(text: String) {
        #expect(RateText.parse(text) == nil)
    }

    @Test("The description of a rate gives the bounds of its count and period")
    func rateBounds() {
        #expect(
            ValueForm<Rate>.rate.expected
                == "a rate such as 60/min or 1/5min, with a count of at most 1000000000 and a period from 1ms to 366d, "
                + "or 0: no limit")
        #expect(
            ValueForm<Rate>.escalation.expected
                == "a rate such as 100/h or 500/15min, with a count of at most 1000000000 and a period from 10s to "
                + "30d, or 0: never")
        #expect(RateText.parse("1000000000/ms") != nil && RateText.parse("1000000001/s") == nil)
        #expect(RateText.parse("1/366d") != nil && RateText.parse("1/367d") == nil)
    }

    @Test(
        "A printed value is parsed as the same value",
        arguments: [0, 1, 999, 1_000, 60_000_000, 90_000_000, 86_400_000_123])
    func roundTrip(microseconds: Int) {
        let duration = Duration.microseconds(microseconds)
        #expect(DurationText.parse(DurationText.text(duration)) == duration)
        #expect(SizeText.parse(SizeText.text(Int64(microseconds))) == Int64(microseconds))
        guard microseconds >= 1000 else { return }
        let rate = Rate(7, per: duration)
        #expect(RateText.parse(RateText.text(rate)) == rate)
    }

    @Test(
        "Keys accept valid values within their bounds, and no others",
        arguments: [
            ("Socket", "Mode", ["0666", "660", "0000"], ["0888", "66", "01777", "-1", "0o66"]),
            ("Socket", "Path", ["/run/x.sock"], ["run/x", "@x", "/run/", "/" + String(repeating: "a", count: 107)]),
            ("Socket", "MaxConnections", ["1", "4096"], ["0", "-1", "1.5", "1K", "99999999", "٣"]),
            ("Socket", "MaxMessageSize", ["4K", "64M"], ["4095", "65M", "x"]),
            ("Socket", "ReadTimeout", ["30", "100ms", "1h"], ["0", "99ms", "2h"]),
            ("Store", "Path", ["/a"], ["a", "/", ""]),
            ("Store", "KeepFree", ["0", "1G"], ["-1", "2P"]),
            ("Access", "Readers", ["root", "root root", "0"], ["no-such-group-here", "root no-such-group-here"]),
            ("Limits", "GroupBurst", ["0", "5"], ["-1", "5/min"]),
            ("Limits", "CriticalReserve", ["0%", "99%", "5 %"], ["100%", "20", "-1%", "%", "1.5%"]),
            ("Forward", "Compression", ["yes", "no", "true", "false", "on", "off", "1", "0", "YES"], ["maybe", "2"]),
            ("Forward", "BacklogShare", ["1%", "100%"], ["0%", "101%"]),
            ("Forward", "DailyBytes", ["0", "1M"], ["1", "1023K"]),
            ("Log", "Level", ["debug", "info", "notice", "warning", "error"], ["Notice", "fatal"]),
            ("Log", "Target", ["auto", "journal", "stderr"], ["syslog"]),
            ("LogzIO", "Region", ["us", "wa", "au", "ca", "eu", "uk", "nl"], ["de", "EU"]),
            ("LogzIO", "Connection", ["secure", "insecure", "streaming"], ["tls"]),
            ("LogzIO", "Credential", ["logzio-token", "/etc/t"], ["a/b", "..", "a b", "/x/"]),
            ("LogzIO", "Type", ["issued", "a_b-1.2"], ["a b", "ä", String(repeating: "a", count: 65)]),
            (
                "LogzIO", "Proxy", ["http://p:3128", "socks5h://p:1", "http://[::1]:9/", "https://p.example.com"],
                [
                    "p:3128", "http://u:p@p:1", "ftp://p", "http://p/x", "http://", "http://p:0", "http://p:70000",
                    "http:/p", "http://[]:80",
                ]
            ),
            (
                "LogzIO", "URL",
                ["https://listener.logz.io:8071", "HTTP://a.example/x/", "http://127.0.0.1:80/", "https://[::1]:9"],
                [
                    "listener.logz.io", "ftp://a", "https://", "https:///x", "https://a:0", "https://a:70000",
                    "https://a:",
                    "https://u:p@a", "https://a/?token=x", "https://a/#x", "https://a b", "https://[::1", "file:///etc",
                    "https://ä.example", "https:a", "https://a:8071:1",
                ]
            ),
            ("LogzIO", "MetadataKey", ["meta", "linux.metadata"], ["message", "a-b", "a..b", ".a"]),
            ("LogzIO", "Backlog", ["new", "all"], ["old"]),
        ])
    func keys(section: String, key: String, accepted: [String], refused: [String]) throws {
        let key = try #require(
            ConfigurationSection.named(section)?.keys(named: false).first { $0.name == key })
        for text in accepted { #expect(key.accepts(text), "\(text)") }
        for text in refused { #expect(!key.accepts(text), "\(text)") }
    }
}
