import Destinations
import Foundation
import IssueCore
import Testing

@testable import IssueDaemon

@Suite("The shipped file and the manual page are complete")
struct ManualTests {
    @Test("The shipped file equals the defaults")
    func asItIs() throws {
        let folder = try ConfigurationFolder()
        #expect(try folder.load(ShippedFile.text()) == .default)
    }

    @Test("The shipped file with all defaults uncommented equals the defaults")
    func uncommented() throws {
        let folder = try ConfigurationFolder()
        let text = ShippedFile.uncommented(try ShippedFile.text())

        #expect(try folder.load(text) == .default)
        let keys = ConfigurationFile(path: "a", content: Array(text.utf8)).sections.flatMap(\.assignments)
        #expect(keys.count > 40)
    }

    @Test(
        "Every key is in its section of the shipped file with its default, and in the manual page",
        arguments: ConfigurationSection.all.filter { !$0.isTarget })
    func complete(section: ConfigurationSection) throws {
        let text = ShippedFile.uncommented(try ShippedFile.text())
        let file = ConfigurationFile(path: "a", content: Array(text.utf8))
        let assignments = file.sections.filter { $0.kind == section.name && $0.name == nil }.flatMap(\.assignments)
        let page = try ShippedFile.manualPage()

        #expect(
            assignments.map { "\($0.key)=\($0.value)" }
                == section.keys(named: false).map { "\($0.name)=\($0.defaultText)" })
        for key in section.keys(named: false) { #expect(page.contains("\n.B \(key.name)=\(key.defaultText)\n")) }
    }

    @Test("The keys of destinations and notifiers are in the shipped file and the manual page, with their defaults")
    func destination() throws {
        let text = try ShippedFile.text()
        let page = try ShippedFile.manualPage()
        let shared = Set(
            (ConfigurationSection.limits.keys(named: false) + ConfigurationSection.forward.keys(named: false)).map(
                \.name))

        let destinations = ConfigurationSection.all.filter(\.isTarget)
        for key in destinations.flatMap({ $0.keys(named: false) }) where !shared.contains(key.name) {
            #expect(text.contains("\n# \(key.name)=\(key.defaultText)\n"))
            #expect(page.contains("\n.B \(key.name)=\(key.defaultText)\n"))
        }
        for key in ConfigurationSection.limits.keys(named: true) { #expect(text.contains("\(key.name)=")) }
    }

    @Test(
        "Each default is a valid value, and each key has a description", arguments: ConfigurationSection.all)
    func defaults(section: ConfigurationSection) {
        for key in section.keys(named: false) + section.keys(named: true) {
            #expect(key.defaultText.isEmpty || key.accepts(key.defaultText), "\(key.name)")
            #expect(key.help.hasSuffix(".") && !key.expected.isEmpty)
        }
    }

    /// `Connection=` is left out, because its default depends on `URL=`.
    @Test("The defaults of a destination's keys are the initial values of its settings", arguments: DestinationKind.all)
    func destinationDefaults(kind: DestinationKind) {
        let settings = DestinationSettings(kind, limits: LimitSettings(), forward: ForwardSettings())
        for key in ConfigurationTable.destination(kind) where key.name != "Connection" {
            #expect(key.text(settings) == key.metadata.defaultText, "\(key.name)")
        }
    }

    /// Returns the cells of the first table row of a page that begins with `start`.
    private func row(_ start: String, of page: String) throws -> [String] {
        let line = try #require(try ShippedFile.text(at: page).split(separator: "\n").first { $0.hasPrefix(start) })
        return line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("The pages about the protocol and the limits state the defaults")
    func pages() throws {
        let (socket, limits, forward) = (SocketSettings(), LimitSettings(), ForwardSettings())
        func number(_ count: Int) -> String {
            count < 1000 ? "\(count)" : "\(count / 1000),\(String("\(1000 + count % 1000)".dropFirst()))"
        }
        func size(_ bytes: Int) -> String { bytes < 1 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB" }
        for (start, text) in [
            ("size of a message", size(socket.maxMessageSize)), ("size of a record", size(socket.maxRecordSize)),
            ("depth of a record", number(socket.maxDepth)), ("keys in a record", number(socket.maxKeys)),
            ("connections in total", number(socket.maxConnections)),
            ("connections per user", number(socket.maxConnectionsPerUser)),
            ("partial calls of all users", size(socket.maxMemory / 4)),
            ("replies to all users", size(socket.maxMemory / 2)),
            ("bytes per user without a reply", size(socket.maxBytesInFlightPerUser)),
            ("time from the first to the last byte", DurationText.text(socket.readTimeout)),
        ] {
            let cell = try row("| \(start)", of: "Documentation/WireProtocol.md")[1]
            #expect("\(cell.filter { $0 != " " }),".hasPrefix(text.filter { $0 != " " } + ","), "\(start)")
        }
        for (start, text) in [
            ("the bucket of its group", "\(limits.groupBurst), then one every 5 min"),
            (
                "the bucket of its application",
                "\(limits.applicationBurst), then \(limits.applicationRefill.count) a minute"
            ),
            ("the bucket of the destination", "\(limits.globalBurst), then \(limits.globalRefill.count) a minute"),
            ("the user's share of the bytes", SizeText.text(forward.dailyBytes)),
        ] {
            #expect(try row("| \(start)", of: "Documentation/RateLimits.md")[2] == text)
        }
        #expect(limits.groupRefill == Rate(1, per: .seconds(300)))
        let rates = try row("| | rate | with the defaults", of: "Documentation/RateLimits.md")[2]
        let share = forward.backlogShare.percent
        #expect(
            rates == "with the defaults (`SendRate=\(RateText.text(forward.sendRate))`, `BacklogShare=\(share)%`)")
    }

    @Test("The destination in the example is valid as soon as a region is set")
    func example() throws {
        let folder = try ConfigurationFolder()
        try folder.write("token\n", to: "credentials/logzio-token")
        let text = try ShippedFile.text()
        let start = try #require(text.range(of: "# [LogzIO]\n"))
        let end = try #require(text.range(of: "# [LogzIO second]"))
        let section = text[start.lowerBound..<end.lowerBound].split(separator: "\n")
            .filter { $0.wholeMatch(of: /# (\[LogzIO\]|[A-Z][A-Za-z]*=.*)/) != nil }
            .map { String($0.dropFirst(2)) }.joined(separator: "\n")
            .replacingOccurrences(of: "Region=", with: "Region=eu")

        let configuration = try folder.load(section, ["CREDENTIALS_DIRECTORY": "\(folder.path)/credentials"])

        #expect(configuration.destinations.count == 1)
        #expect(configuration.destinations.first?.address.url == "https://listener-eu.logz.io:8071/")
        #expect(configuration.destinations.first?.name == "logzio")
    }

    @Test("A truncated shipped file is valid, or each of its errors is reported with a line")
    func truncations() throws {
        let folder = try ConfigurationFolder()
        let text = ShippedFile.uncommented(try ShippedFile.text())
        let whole = text.utf8.count
        var complained = 0
        for end in stride(from: 0, through: whole, by: 23) {
            for problem in folder.problems(of: String(decoding: text.utf8.prefix(end), as: UTF8.self)) {
                #expect(problem.wholeMatch(of: /issued\.conf:[1-9][0-9]*: .+[.?]/) != nil)
                complained += 1
            }
        }
        #expect(complained > 0)
    }
}
