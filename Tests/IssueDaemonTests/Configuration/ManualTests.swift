import Foundation
import IssueDaemon
import Testing

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
        "Every key is in its section with its default, and in the manual page",
        arguments: ConfigurationSection.all.filter { !$0.isDestination })
    func complete(section: ConfigurationSection) throws {
        let text = ShippedFile.uncommented(try ShippedFile.text())
        let file = ConfigurationFile(path: "a", content: Array(text.utf8))
        let said = file.sections.filter { $0.kind == section.name && $0.name == nil }.flatMap(\.assignments)
        let page = try ShippedFile.manualPage()

        #expect(
            said.map { "\($0.key)=\($0.value)" } == section.keys(named: false).map { "\($0.name)=\($0.defaultText)" })
        for key in section.keys(named: false) { #expect(page.contains("\n.B \(key.name)=\(key.defaultText)\n")) }
    }

    @Test("The keys of destinations are in the file with their defaults, and in the manual page")
    func destination() throws {
        let text = try ShippedFile.text()
        let page = try ShippedFile.manualPage()
        let shared = Set(
            (ConfigurationSection.limits.keys(named: false) + ConfigurationSection.forward.keys(named: false)).map(
                \.name))

        let destinations = ConfigurationSection.all.filter(\.isDestination)
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

    @Test("The destination in the example works as soon as a region is set")
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

        #expect(configuration.logzIO.count == 1)
        #expect(configuration.logzIO.first?.listener == "https://listener-eu.logz.io:8071/")
        #expect(configuration.logzIO.first?.name == "logzio")
    }

    @Test("Every truncation of the file is valid or reported with a line")
    func truncations() throws {
        let folder = try ConfigurationFolder()
        let text = ShippedFile.uncommented(try ShippedFile.text())
        let whole = text.utf8.count
        var complained = 0
        for end in stride(from: 0, through: whole, by: 23) {
            for problem in folder.problems(of: String(decoding: text.utf8.prefix(end), as: UTF8.self)) {
                #expect(problem.firstMatch(of: /^issued\.conf:[1-9][0-9]*: .+\.|\?$/) != nil)
                complained += 1
            }
        }
        #expect(complained > 0)
    }
}
