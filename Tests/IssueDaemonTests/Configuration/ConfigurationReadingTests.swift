import Foundation
import IssueCore
import Testing

@testable import IssueDaemon

@Suite("Reading the configuration")
struct ConfigurationReadingTests {
    @Test("The keys of general sections set the values of the configuration")
    func sectionKeys() throws {
        let folder = try ConfigurationFolder()
        let configuration = try folder.load(
            """
            [Socket]
            Path=/tmp/a.sock
            Mode=0660
            MaxConnections=10
            MaxConnectionsPerUser=5
            [Store]
            MaxAge=1d
            [Access]
            Readers=root
            Operators=0
            [Limits]
            GlobalRefill=1/s
            ApplicationsPerUser=0
            [Limits shop]
            User=root
            GroupBurst=7
            [Forward]
            Compression=no
            [Log]
            Level=debug
            Target=stderr
            """)

        var expected = Configuration.default
        expected.socket.path = "/tmp/a.sock"
        expected.socket.mode = 0o660
        expected.socket.maxConnections = 10
        expected.socket.maxConnectionsPerUser = 5
        expected.store.retention.maxAge = .seconds(86_400)
        expected.access.readers = [HostGroup(name: "root", groupID: 0)]
        expected.access.operators = [HostGroup(name: "0", groupID: 0)]
        expected.limits.globalRefill = Rate(1, per: .seconds(1))
        expected.limits.applicationsPerUser = 0
        expected.limits.overrides = [ApplicationLimitOverride(name: "shop", uid: 0, groupBurst: 7)]
        expected.forward.compression = false
        expected.log.level = .debug
        expected.log.target = .stderr
        #expect(configuration == expected)
        #expect(configuration.access.operatorIDs == [0])
    }

    @Test("All errors are reported at once, with file and line, and with the expected value or the most similar key")
    func allAtOnce() throws {
        let folder = try ConfigurationFolder()
        let problems = folder.problems(
            of: """
                [Sokcet]
                Path=/x
                [Socket]
                MaxConections=5
                Mode=rw
                MaxSize=1G
                nonsense
                [Store Big]
                [Crashes]
                Keys=a
                [Limits]
                GroupRefill=5
                GroupRefill=6/min
                GroupRefill=7/min
                [LogzIO]
                Region=us
                Tokenn=secret
                Token=secret
                NewGroupsPerApplication=1/min
                """)

        #expect(
            problems.map { String($0.prefix { $0 != " " }) } == [
                "issued.conf:1:", "issued.conf:4:", "issued.conf:5:", "issued.conf:6:", "issued.conf:7:",
                "issued.conf:8:", "issued.conf:9:", "issued.conf:12:", "issued.conf:14:", "issued.conf:17:",
                "issued.conf:18:", "issued.conf:19:",
            ])
        #expect(problems[0].contains("Unknown section [Sokcet]") && problems[0].hasSuffix("Did you mean [Socket]?"))
        #expect(problems[1] == "issued.conf:4: [Socket] has no key MaxConections=. Did you mean MaxConnections=?")
        #expect(problems[2] == "issued.conf:5: Invalid Mode=rw; expected permissions in octal, such as 0666.")
        #expect(problems[3] == "issued.conf:6: [Socket] has no key MaxSize=; expected it in [Store].")
        #expect(problems[5].contains("[Store] takes no name"))
        #expect(problems[6].contains("This version does not support [Crashes] yet"))
        #expect(problems[7].contains("expected a rate such as 60/min"))
        #expect(problems[8].contains("GroupRefill= is set twice"))
        #expect(problems[10].contains("Credential="))
        #expect(problems[11].contains("expected it in [Limits]"))
        #expect(!problems.joined().contains("secret"))
    }

    @Test(
        "Contradictory values are reported at the line of one of them",
        arguments: [
            ("[Socket]\nMaxRecordSize=2M\n", "issued.conf:2: MaxRecordSize= and MaxMessageSize="),
            ("[Socket]\nMaxMessageSize=16M\n", "issued.conf:2: MaxMessageSize= and MaxBytesInFlightPerUser="),
            ("[Socket]\nMaxConnections=10\n", "issued.conf:2: MaxConnectionsPerUser= and MaxConnections="),
            ("[Limits]\nSummaryReserve=60%\n", "issued.conf:2: CriticalReserve=, SummaryReserve= and NoveltyReserve="),
            ("[Limits]\nSummaryInterval=1h\n", "issued.conf:2: SummaryInterval= and SummaryIntervalMax="),
            ("[Forward]\n\nRequestTimeout=5s\n", "issued.conf:3: ConnectTimeout= and RequestTimeout="),
        ])
    func together(text: String, beginning: String) throws {
        let folder = try ConfigurationFolder()
        let problems = folder.problems(of: text)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(beginning) == true)
    }

    @Test(
        "Planned sections are rejected with a message of their own",
        arguments: ["Crashes"])
    func planned(section: String) throws {
        let folder = try ConfigurationFolder()
        let problems = folder.problems(of: "[\(section)]\nURL=http://a\n")
        #expect(problems == ["issued.conf:1: This version does not support [\(section)] yet; remove the section."])
    }

    @Test("A relative path becomes absolute, unless the current folder is unknown or not valid UTF-8")
    func relativePath() {
        let source = ConfigurationSource.file("./a.conf")
        #expect(source.absolute(in: Array("/srv".utf8)) == .file("/srv/a.conf"))
        for folder in [nil, [], Array("/srv/".utf8) + [0xFF], Array("(unreachable)/srv".utf8)] {
            #expect(source.absolute(in: folder) == source)
        }
        #expect(ConfigurationSource.file("/a.conf").absolute(in: Array("/srv".utf8)) == .file("/a.conf"))
    }

    @Test("Drop-ins are read after the file, ordered by name, and the last value wins")
    func dropIns() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Store]\nMaxAge=2d\nMaxSize=2G\n[Access]\nReaders=root\n", to: "issued.conf.d/20-b.conf")
        try folder.write("[Store]\nMaxAge=1d\nKeepFree=1G\n", to: "issued.conf.d/10-a.conf")
        try folder.write("[Store]\nMaxAge=9d\n", to: "issued.conf.d/99.conf.bak")
        try folder.write("[Store]\nMaxAge=9d\n", to: "issued.conf.d/.hidden.conf")

        let configuration = try folder.load("[Store]\nMaxAge=3d\nPath=/a/b\n[Access]\nReaders=0\n")

        #expect(configuration.store.retention.maxAge == .seconds(2 * 86_400))
        #expect(configuration.store.retention.maxSize == 2 << 30)
        #expect(configuration.store.retention.keepFree == 1 << 30)
        #expect(configuration.store.path == "/a/b")
        #expect(configuration.access.readers.map(\.name) == ["0", "root"])
    }

    @Test("An empty value resets a key to its default, and empties a list")
    func reset() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Store]\nMaxAge=\n[Access]\nReaders=\nReaders=root\n", to: "issued.conf.d/20.conf")

        let configuration = try folder.load(
            "[Store]\nMaxAge=3d\nMaxSize=5G\nMaxSize=\nMaxSize=6G\n[Access]\nReaders=0\n")

        #expect(configuration.store.retention.maxAge == StoreSettings().retention.maxAge)
        #expect(configuration.store.retention.maxSize == 6 << 30)
        #expect(configuration.access.readers.map(\.name) == ["root"])
    }

    @Test("Errors in drop-ins name the drop-in, and are listed in the order in which the files are read")
    func dropInErrors() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Log]\nLevel=x\n", to: "issued.conf.d/b.conf")
        try folder.write("\n[Log]\nLevel=y\n", to: "issued.conf.d/a.conf")

        let problems = folder.problems(of: "[Log]\nTarget=z\n")

        #expect(
            problems.map { String($0.prefix { $0 != " " }) }
                == ["issued.conf:2:", "issued.conf.d/a.conf:3:", "issued.conf.d/b.conf:2:"])
    }

    @Test("A file that --config names must exist, and is read with its own drop-ins only")
    func named() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Store]\nMaxAge=9d\n", to: "issued.conf")
        let file = try folder.write("[Log]\nLevel=info\n", to: "other.conf")
        try folder.write("[Log]\nTarget=stderr\n", to: "other.conf.d/a.conf")

        let configuration = try Configuration.load(.file(file), in: folder.environment(), for: .running)

        #expect(configuration.log.level == .info && configuration.log.target == .stderr)
        #expect(configuration.store == StoreSettings())
        #expect(throws: InvalidConfiguration.self) {
            try Configuration.load(.file("\(file).missing"), in: folder.environment(), for: .running)
        }
    }

    @Test("Sections for one application are distinguished by User=, and a drop-in changes the section with its User=")
    func applications() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Limits shop]\nUser=7\nGroupBurst=9\n", to: "issued.conf.d/a.conf")

        let configuration = try folder.load(
            "[Limits shop]\nUser=7\nGroupBurst=1\nApplicationBurst=2\n"
                + "[Limits shop]\nGroupBurst=3\n[Limits]\nGroupBurst=4\n"
        )

        #expect(
            configuration.limits.overrides == [
                ApplicationLimitOverride(name: "shop", uid: 7, groupBurst: 9, applicationBurst: 2),
                ApplicationLimitOverride(name: "shop", groupBurst: 3),
            ])
        #expect(configuration.limits.groupBurst == 4)
        let problems = folder.problems(of: "[Limits shop]\nGlobalBurst=1\n")
        #expect(problems == ["issued.conf:2: [Limits shop] has no key GlobalBurst=; expected it in [Limits]."])
    }

    @Test("In [Limits NAME], MaxAge= sets the maximum age of the application's records, for the user of the section")
    func applicationAges() throws {
        let folder = try ConfigurationFolder()
        let configuration = try folder.load(
            "[Store]\nMaxAge=30d\n[Limits shop]\nUser=7\nMaxAge=7d\n[Limits shop]\nMaxAge=90d\n[Limits other]\nGroupBurst=3\n"
        )
        #expect(
            configuration.retention.applicationAges == [
                ApplicationAge(name: "shop", uid: 7, maxAge: .seconds(7 * 86_400)),
                ApplicationAge(name: "shop", maxAge: .seconds(90 * 86_400)),
            ])
        #expect(configuration.retention.maxAge == .seconds(30 * 86_400))
        #expect(configuration.text.contains("[Limits shop]\nUser=7\nMaxAge=7d\n"))
        #expect(
            folder.problems(of: "[Limits]\nMaxAge=7d\n")
                == ["issued.conf:2: [Limits] has no key MaxAge=; expected it in [Store]."])
    }

    @Test(
        "Of a token in place of a key, a section or a value, only the first four characters are quoted",
        arguments: ["%=x", "Region=%", "[%]"])
    func misplacedToken(line: String) throws {
        let token = "oCwtIBkXaJhHbTkJkSdRYqPPfBZwRkvD"
        let folder = try ConfigurationFolder()
        let problems = folder.problems(of: "[LogzIO]\n\(line.replacing("%", with: token))\n")
        #expect(problems.contains { $0.contains("oCwt…") })
        #expect(!problems.contains { $0.contains(token) }, "\(problems)")
    }

    @Test("Without a file, an ordinary user's daemon uses folders of that user")
    func ownFolders() throws {
        let folder = try ConfigurationFolder()
        func paths(_ variables: [String: String], userID: UInt32 = 1234) throws -> [String] {
            let configuration = try Configuration.load(
                .default, in: folder.environment(userID: userID, variables), for: .running)
            return [configuration.socket.path, configuration.store.path]
        }
        let system = ["/run/issued/issued.sock", "/var/lib/issued/issues.db"]

        #expect(
            try paths(["XDG_RUNTIME_DIR": "/r", "XDG_STATE_HOME": "/s"])
                == ["/r/issued/issued.sock", "/s/issued/issues.db"])
        #expect(
            try paths(["XDG_RUNTIME_DIR": "relative", "HOME": "/h"])
                == ["\(folder.path)/tmp-1234/issued.sock", "/h/.local/state/issued/issues.db"])
        #expect(try paths([:])[1] == "\(folder.path)/home/.local/state/issued/issues.db")
        #expect(try paths(["XDG_RUNTIME_DIR": "/r"], userID: 0) == system)
        #expect(try paths(["STATE_DIRECTORY": "/var/lib/issued"]) == system)

        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/run/\(getuid())", withIntermediateDirectories: true)
        if getuid() != 0 {
            #expect(try paths([:], userID: getuid())[0] == "\(folder.path)/run/\(getuid())/issued/issued.sock")
        }
        // A folder that is named after the user id but has another owner is not trusted.
        try FileManager.default.createDirectory(atPath: "\(folder.path)/run/4321", withIntermediateDirectories: true)
        #expect(try paths([:], userID: 4321)[0] == "\(folder.path)/tmp-4321/issued.sock")
        let other = "\(folder.path)/run"
        #expect(try paths(["XDG_RUNTIME_DIR": other], userID: 4321)[0] == "\(folder.path)/tmp-4321/issued.sock")

        // Another user owns the folder, so the socket is placed next to the database.
        try FileManager.default.createDirectory(atPath: "\(folder.path)/tmp-4321", withIntermediateDirectories: true)
        #expect(try paths(["HOME": "/h"], userID: 4321)[0] == "/h/.local/state/issued/issued.sock")

        try folder.write("", to: "issued.conf")
        #expect(try paths(["XDG_RUNTIME_DIR": "/r"]) == system)
    }

    @Test("A private folder is created with mode 0700, and one that others can enter is not trusted")
    func privateFolder() throws {
        let folder = try ConfigurationFolder()
        let path = "\(folder.path)/a/b"
        try DaemonFolder.prepare(path)
        try DaemonFolder.prepare(path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o700)

        #expect(throws: (any Error).self) { try DaemonFolder.prepare(path, userID: 4321) }
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: path)
        #expect(throws: (any Error).self) { try DaemonFolder.prepare("\(folder.path)/link") }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        #expect(throws: (any Error).self) { try DaemonFolder.prepare(path) }
    }

    @Test("The printed configuration is read as the same configuration")
    func printing() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("t\n", to: "token", mode: 0o600)
        let configuration = try folder.load(
            """
            [Access]
            Readers=root 0
            [Limits]
            SummaryInterval=90s
            [Limits shop]
            User=5
            GroupRefill=0
            [LogzIO]
            Region=eu
            Credential=\(token)
            GroupBurst=9
            [LogzIO second]
            URL=http://127.0.0.1:80
            Credential=\(token)
            SendRate=1/s
            MetadataKey=meta
            """)

        let text = configuration.text
        #expect(try folder.load(text) == configuration)
        #expect(text.contains("SummaryIntervalMax=15min\n") && text.contains("SummaryInterval=1min 30s\n"))
        #expect(text.contains("[LogzIO second]\n"))
        #expect(try folder.load("").text.contains("GlobalRefill=300/min\n"))
    }
}
