import Destinations
import Foundation
import IssueCore
import IssueProtocol
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Configuration of notifiers")
struct NotifierConfigurationTests {
    private func load(_ text: String) throws -> Configuration {
        try ConfigurationFolder().load(text)
    }

    @Test("A notifier needs only a URL")
    func smallest() throws {
        let notifier = try #require(try load("[Notify oncall]\nURL=https://hooks.example.com/x").notifiers.first)
        #expect(notifier.name == "oncall")
        #expect(notifier.settings.url?.origin == "hooks.example.com:443")
        #expect(notifier.settings.format == .json && notifier.settings.template == nil)
        #expect(notifier.settings.filter == NotificationFilter())
        #expect(try load("[Notify]\nURL=https://hooks.example.com/x").notifiers.map(\.name) == ["webhook"])
    }

    @Test("The keys of a notifier are read, and the printed configuration has the same effect")
    func everything() throws {
        let folder = try ConfigurationFolder()
        try folder.write("https://hooks.example.com/secret?x=1\n", to: "url", mode: 0o600)
        try folder.write("token\n", to: "token", mode: 0o600)
        let text = """
            [Notify chat]
            URLCredential=\(folder.path)/url
            Credential=\(folder.path)/token
            Format=slack
            Template={"text": "{title}"}
            On=new critical escalated limit-reached
            Escalated=500/15min
            Apps=shop cart*
            Environments=production
            Units=shop@*
            Severity=warning
            Delay=10s
            Burst=5
            Rate=1/min
            RequestTimeout=3s
            RetryFor=1d
            """
        let configuration = try folder.load(text)
        let settings = try #require(configuration.notifiers.first).settings
        #expect(settings.filter.kinds == [.new, .critical, .escalated, .limitReached])
        #expect(settings.filter.apps == ["shop", "cart*"])
        #expect(settings.limit == BucketLimit(burst: 5, refill: Rate(1, per: .seconds(60))))
        #expect(settings.shownFormat == "template")
        #expect(try folder.load(configuration.text) == configuration)
        // The URL is read from its file for each message.
        #expect(!configuration.text.contains("secret?x=1"))
    }

    @Test(
        "Errors name the line and what is expected",
        arguments: [
            ("[Notify a]", "a.conf:1: [Notify a] has no address; expected URL=, URLCredential= or Command=."),
            ("[Notify a]\nCommand=mail root", "a.conf:2: Invalid Command=…; expected the absolute path"),
            (
                "[Notify a]\nCommand=/bin/page --token \"SECRET",
                "a.conf:2: Invalid Command=…; expected the absolute path"
            ),
            (
                "[Notify a]\nCommand=/bin/true\nURL=https://h/",
                "a.conf:2: [Notify a] has both URL= and Command=; expected only one."
            ),
            ("[Notify a]\nURL=https://h/?key=1", "a.conf:2: Invalid URL=…; expected a URL such as"),
            ("[Notify a]\nURL=https://h/\nOn=old", "a.conf:3: Invalid On=old; expected words from store-fault"),
            ("[Notify a]\nURL=https://h/\nApps=s*p", "a.conf:3: Invalid Apps=s*p; expected at most 50 names"),
            ("[Notify a]\nURL=https://h/\nUnits=a *.service", "a.conf:3: Invalid Units=a *.service; expected at most"),
            ("[Notify a]\nURL=https://h/\nBurst=4", "a.conf:3: Invalid Burst=4; expected a number from 5"),
            (
                "[Notify a]\nURL=https://h/\nEscalated=100/1s",
                "a.conf:3: Invalid Escalated=100/1s; expected a rate such as"
            ),
            (
                "[Notify a]\nURL=https://h/\nTemplate={\"a\": \"{titel}\"}",
                "a.conf:3: Invalid Template=…; expected JSON"
            ),
            ("[Notify a]\nURL=https://h/\nTemplate={title}", "a.conf:3: Invalid Template=…; expected JSON"),
            ("[Notify a b]\nURL=https://h/", "a.conf:1: Expected [Section] or [Section NAME]"),
            (
                "[Notify a]\nURL=https://h/\n[Notify a]\nURL=https://h/",
                "a.conf:3: Notifier [Notify a] is defined twice; give this one another name."
            ),
            (
                "[Notify a]\nURL=https://h/\nApps=shop # only shop",
                "a.conf:3: Invalid Apps=shop # only shop; expected at most 50 names of at most 256 bytes, separated by "
                    + "blanks; only the end of a name can be *, and no name begins with #. A comment must be on a line of its own."
            ),
            (
                "[Notify]\nURL=https://h/\n[Notify webhook]\nURL=https://h/",
                "a.conf:3: Two notifiers are named “webhook”, so neither is used; rename one of them."
            ),
            (
                "[Notify a]\nURL=https://h/\nURLCredential=x",
                "a.conf:3: [Notify a] has both URL= and URLCredential=; expected only one."
            ),
        ])
    func errors(text: String, problem: String) throws {
        let folder = try ConfigurationFolder()
        let expected = problem.replacingOccurrences(of: "a.conf", with: "issued.conf")
        let problems = folder.problems(of: text)
        #expect(problems.contains { $0.hasPrefix(expected) }, "\(problems)")
    }

    @Test("A notifier or destination that is defined twice is one error, whatever keys the two sections have")
    func definedTwice() throws {
        let folder = try ConfigurationFolder()
        for text in [
            "[Notify a]\nURL=https://h/\nBurst=5\n[Notify a]\nCommand=/bin/true\nBurst=6",
            "[Notify a]\nOn=new\nBurst=5\n[Notify a]\nBurst=6",
            "[OTLP a]\nURL=http://h:4318\nBacklog=all\n[OTLP a]\nURL=http://i:4318",
        ] {
            let problems = folder.problems(of: text)
            #expect(problems.count == 1 && problems[0].hasPrefix("issued.conf:4: "), "\(problems)")
            #expect(problems.last?.hasSuffix("] is defined twice; give this one another name.") == true)
        }
    }

    @Test("Command= names a program; one that does not exist causes a warning, and so does a key without effect")
    func command() throws {
        let found = try load("[Notify a]\nCommand=/bin/sh -c 'cat > /dev/null'")
        #expect(found.notifiers[0].settings.command?.arguments == ["/bin/sh", "-c", "cat > /dev/null"])
        #expect(found.notifiers[0].settings.shownFormat == "command" && found.warnings == [])
        #expect(found.text.contains("\nCommand=/bin/sh -c 'cat > /dev/null'\n"))
        #expect(try load("[Notify a]\nCommand=/nonexistent/page").warnings.count == 1)
        #expect(try load("[Notify a]\nCommand=/bin/true\nProxy=http://proxy:3128").warnings.count == 1)
    }

    @Test("A program in Command= that other users can change causes a warning")
    func commandRights() throws {
        let folder = try ConfigurationFolder()
        let script = try folder.write("#!/bin/sh\n", to: "bin/page", mode: 0o755)
        let bin = "\(folder.path)/bin"
        func warnings() throws -> [String] { try folder.load("[Notify a]\nCommand=\(script)").warnings }
        #expect(try warnings() == [])
        try FileSystem.setMode(0o777, of: script)
        #expect(
            try warnings() == [
                "Notifier a: Command=\(script) runs with the daemon's rights, but every user can write to it (mode "
                    + "0777); expected a program that only root or the daemon's own user can change."
            ])
        try FileSystem.setMode(0o755, of: script)
        try FileSystem.setMode(0o777, of: bin)
        #expect(try warnings().first?.contains("every user can write to the folder \(bin) (mode 0777)") == true)
        // In a folder with the sticky bit, others can't replace the files of this user.
        try FileSystem.setMode(0o1777, of: bin)
        #expect(try warnings() == [])
        try FileSystem.setMode(0o775, of: bin)
        let group = try FileSystem.status(of: bin).gid
        let isRisk = try warnings().first?.contains("group \(group) can write to the folder \(bin) (mode 0775)") == true
        #expect(isRisk == (group != 0))
    }

    @Test(
        "A program in Command= that another user owns or another group can change causes a warning",
        .enabled(if: getuid() == 0, "only root can give files to other users"))
    func commandOwners() throws {
        let folder = try ConfigurationFolder()
        let script = try folder.write("#!/bin/sh\n", to: "bin/page", mode: 0o755)
        let bin = "\(folder.path)/bin"
        func warnings() throws -> [String] { try folder.load("[Notify a]\nCommand=\(script)").warnings }
        try FileSystem.setMode(0o775, of: bin)
        try FileSystem.setOwner(0, group: 4242, of: bin)
        #expect(try warnings().first?.contains("group 4242 can write to the folder \(bin) (mode 0775)") == true)
        try FileSystem.setMode(0o1775, of: bin)
        #expect(try warnings() == [])
        try FileSystem.setMode(0o775, of: script)
        #expect(try warnings() == [])
        try FileSystem.setOwner(0, group: 4242, of: script)
        #expect(try warnings().first?.contains("group 4242 can write to it (mode 0775)") == true)
        try FileManager.default.setAttributes([.ownerAccountID: 4242], ofItemAtPath: script)
        #expect(try warnings().first?.contains("it belongs to user 4242") == true)
    }

    @Test("A notifier's online check fails if its host is unreachable or its program is missing, and shows no secret")
    func online() throws {
        func check(_ lines: String) throws -> OnlineCheck {
            OnlineCheck([], try load("[Notify a]\n\(lines)").notifiers)
        }
        let unreachable = try check("URL=http://127.0.0.1:1/SECRET\nProxy=")
        #expect(!unreachable.isPassed && unreachable.text.hasPrefix("notifier a: failed, "))
        #expect(!unreachable.text.contains("SECRET"))
        #expect(
            try check("Command=/bin/true").text == "notifier a: ok, /bin/true can be run (not run by this check)\n")
        #expect(try !check("Command=/nonexistent").isPassed)
    }

    static let lines: [(line: String, words: [String]?)] = [
        ("/bin/page", ["/bin/page"]), ("/bin/page  a\tb", ["/bin/page", "a", "b"]),
        (#"/bin/page "a b" 'c "d"' e"f g"h"#, ["/bin/page", "a b", "c \"d\"", "ef gh"]),
        (#"/bin/page "" '' x"#, ["/bin/page", "", "", "x"]),
        (#"/bin/page a\ b \s \n \t \\ \" \' \x41"#, ["/bin/page", "a b", " ", "\n", "\t", "\\", "\"", "'", "A"]),
        (#""/opt/my tool" $HOME * | > ;"#, ["/opt/my tool", "$HOME", "*", "|", ">", ";"]),
        ("page", nil), ("", nil), ("-/bin/page", nil), ("/bin/", nil), (#"/bin/page "open"#, nil),
        (#"/bin/page \q"#, nil), (#"/bin/page \x0"#, nil), (#"/bin/page \x00"#, nil), (#"/bin/page \xff"#, nil),
        (#"/bin/page \x+1"#, nil), (#"/bin/page \x-0"#, nil), (#"/bin/page \x٣٣"#, nil),
        (#"/bin/page \"#, nil), ("/bin/page" + String(repeating: " a", count: 64), nil),
    ]

    @Test("A command line is split as in a unit, without a shell", arguments: lines)
    func split(line: String, words: [String]?) {
        #expect(NotifierCommand(line)?.arguments == words)
    }

    @Test("Escalated= sets a number of occurrences and a period, and has no effect if On= lacks escalated")
    func escalated() throws {
        func load(_ lines: String) throws -> Configuration { try self.load("[Notify a]\nURL=https://h/\n\(lines)") }
        #expect(try load("").notifiers[0].settings.escalation == nil)
        #expect(try load("").warnings == [])
        let set = try load("Escalated=100/1h")
        #expect(set.notifiers[0].settings.escalation == Rate(100, per: .seconds(3600)) && set.warnings == [])
        #expect(try load("Escalated=100/h\nOn=escalated").notifiers[0].settings.escalation != nil)
        let unused = try load("Escalated=100/h\nOn=new")
        #expect(unused.notifiers[0].settings.escalation == nil && unused.warnings.count == 1)
        #expect(try load("On=new escalated").warnings.count == 1)
    }

    @Test("A name with a comma causes a warning, since names are separated by blanks")
    func commas() throws {
        #expect(try load("[Notify a]\nURL=https://h/\nEnvironments=a b* *").warnings == [])
        let warnings = try load("[Notify a]\nURL=https://h/\nEnvironments=a,b").warnings
        #expect(
            warnings == [
                "Notifier a: Environments=a,b has a comma in a name; names are separated by blanks."
            ])
    }

    @Test("A notifier with an error is left out, and everything else is used")
    func misconfigured() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Notify bad]\nURL=x\n[Notify good]\nURL=https://h/\n[Store]\nMaxAge=3d", to: "issued.conf")
        var reader = ConfigurationReader(environment: folder.environment(), purpose: .running)
        let reading = reader.read(.file("\(folder.path)/issued.conf"))
        let effective = EffectiveConfiguration(reading, lastValid: nil)
        #expect(effective.basis == .files)
        #expect(effective.configuration.notifiers.map(\.name) == ["good"])
        #expect(effective.configuration.misconfiguredNotifiers.map(\.name) == ["bad"])
        #expect(effective.faults.map(\.kind) == [.notifier])
    }

    @Test("Of two notifiers with the same name, both are paused, as the status says")
    func sameName() throws {
        let folder = try ConfigurationFolder()
        let text = "[Notify]\nURL=https://first/\n[Notify webhook]\nURL=https://second/\n[Notify good]\nURL=https://h/"
        try folder.write(text, to: "issued.conf")
        var reader = ConfigurationReader(environment: folder.environment(), purpose: .running)
        let reading = reader.read(.file("\(folder.path)/issued.conf"))
        let effective = EffectiveConfiguration(reading, lastValid: nil)
        #expect(effective.explanation == "the affected destinations and notifiers are paused")
        #expect(effective.configuration.notifiers.map(\.name) == ["good"])
        let paused = effective.configuration.misconfiguredNotifiers
        #expect(paused.map(\.name) == ["webhook"])
        #expect(paused.first?.settings.url?.origin == "first:443")
    }

    @Test("An error of a notifier is a configuration fault if it keeps a new destination from being used")
    func lacksDestination() throws {
        let folder = try ConfigurationFolder()
        func kinds(_ text: String) throws -> [StoreFaultKind] {
            try folder.write("[Notify bad]\nURL=x\n\(text)", to: "issued.conf")
            var reader = ConfigurationReader(environment: folder.environment(), purpose: .running)
            let reading = reader.read(.file("\(folder.path)/issued.conf"))
            let running = EffectiveConfiguration(
                ConfigurationReading(configuration: .default, problems: []), lastValid: nil)
            let effective = EffectiveConfiguration(reading, lastValid: .default, running: running)
            #expect(effective.basis == .lastValid)
            return effective.faults.map(\.kind)
        }
        #expect(try kinds("") == [.notifier])
        #expect(try kinds("[OTLP]\nURL=http://localhost:1\n") == [.configuration])
    }

    @Test("--print-config also prints the valid values of a notifier with an error")
    func printed() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Notify bad]\nURL=x\nBurst=7\nFormat=slack\n", to: "issued.conf")
        var reader = ConfigurationReader(environment: folder.environment(), purpose: .inspecting)
        let path = "\(folder.path)/issued.conf"
        let reading = reader.read(.file(path))
        let text = reading.configuration.text(origins: reading.origins)
        #expect(text.contains("\n# This section has an error. These are its valid values.\n[Notify bad]\n"))
        #expect(text.contains("\n# \(path):3\nBurst=7\n") && text.contains("\n# \(path):4\nFormat=slack\n"))
        #expect(text.contains("\nURL=\n"))
        // The copy of the last valid configuration has only valid sections.
        #expect(!reading.configuration.text.contains("[Notify"))
    }
}
