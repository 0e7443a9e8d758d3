import IssueCore
import Testing

@testable import IssueDaemon

@Suite("The origin of each value")
struct OriginTests {
    private func printed(_ options: [String], in environment: HostEnvironment) -> String {
        var text = ""
        _ = DaemonStart.decide(
            arguments: ["--print-config"] + options, environment: environment, output: { text += $0 },
            errorOutput: { text += $0 })
        return text
    }

    private func environment(_ file: String) -> HostEnvironment {
        HostEnvironment(userID: 0, variables: [:], homeFolder: nil, systemFile: file)
    }

    @Test("--print-config names the file and line of each value, or says that it is a default")
    func origins() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("token", to: "token", mode: 0o600)
        let file = try folder.write(
            """
            [Store]
            # A comment
            MaxSize=2G
            MaxAge=7d

            [Access]
            Readers=0
            [LogzIO]
            Region=eu
            Credential=\(token)
            [Notify]
            URL=https://example.org/hook
            """, to: "issued.conf")
        let dropIn = try folder.write(
            """
            [Store]
            MaxAge=14d
            [Access]
            Readers=1
            [Limits shop]
            GroupBurst=5
            [LogzIO second]
            URL=https://example.org/
            GroupRefill=3/min
            Credential=\(token)
            """, to: "issued.conf.d/10-more.conf")
        let text = printed([], in: environment(file))
        #expect(text.hasPrefix("# Files: \(file), \(dropIn)\n\n"))
        #expect(text.contains("\n# \(file):3\nMaxSize=2G\n# \(dropIn):2\nMaxAge="))
        #expect(text.contains("\n# \(file):7, \(dropIn):4\nReaders="))
        #expect(text.contains("\n# default\nKeepFree="))
        #expect(text.contains("[Limits shop]\n# \(dropIn):6\nGroupBurst=5\n"))
        #expect(text.contains("\n# \(file):9\nRegion=eu\n"))
        #expect(text.contains("\n# \(dropIn):9\nGroupRefill="))
        #expect(text.contains("\n# \(file):12\nURL="))
    }

    @Test("--print-config also prints the valid values of a destination with an error, and the error as a comment")
    func misconfiguredDestination() throws {
        let folder = try ConfigurationFolder()
        let file = try folder.write(
            "[OTLP other]\nURL=http://localhost:1\nBacklog=all\nGroupBurst=7\nGroupRefill=often\n", to: "a")
        let text = printed(["--config", file], in: environment("/nowhere"))
        #expect(text.contains("\n# \(file):5: Invalid GroupRefill=often; "))
        #expect(text.contains("\n# This section has an error. These are its valid values.\n[OTLP other]\n"))
        #expect(text.contains("\n# \(file):2\nURL=http://localhost:1/\n"))
        #expect(text.contains("\n# \(file):3\nBacklog=all\n") && text.contains("\n# \(file):4\nGroupBurst=7\n"))
        // The copy of the last valid configuration has only valid sections.
        var reader = ConfigurationReader(environment: environment("/nowhere"), purpose: .inspecting)
        #expect(!reader.read(.file(file)).configuration.text.contains("[OTLP"))
    }

    @Test("The printed text is a configuration file with the same effect")
    func sameEffect() throws {
        let folder = try ConfigurationFolder()
        let file = try folder.write("[Store]\nMaxSize=2G\n[Limits]\nGroupBurst=7\n[OTLP]\nURL=http://[::1]:1/", to: "a")
        let first = printed(["--config", file], in: environment("/nowhere"))
        let copy = try folder.write(first, to: "b")
        let second = printed(["--config", copy], in: environment("/nowhere"))
        func values(_ text: String) -> [Substring] { text.split(separator: "\n").filter { !$0.hasPrefix("#") } }
        #expect(values(first) == values(second) && values(first).contains("GroupBurst=7"))
        // In the copy, every value that is not empty is set.
        let setByDefault = #/# default\n\w+=./#
        #expect(first.contains(setByDefault) && !second.contains(setByDefault))
    }
}
