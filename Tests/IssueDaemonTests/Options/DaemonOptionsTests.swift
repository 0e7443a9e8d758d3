import Foundation
import IssueProtocol
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The command line of issued")
struct DaemonOptionsTests {
    @Test(
        "The command line selects an action and the source of the configuration",
        arguments: [
            ([], DaemonOptions.Action.run, ConfigurationSource.default),
            (["--config", "a"], .run, .file("a")),
            (["--config=a=b"], .run, .file("a=b")),
            (["--check"], .check, .default),
            (["--check", "a"], .check, .file("a")),
            (["--check=a"], .check, .file("a")),
            (["--check", "--config", "a"], .check, .file("a")),
            (["--config", "a", "--check"], .check, .file("a")),
            (["--check", "a", "--user", "u"], .check, .file("a")),
            (["--user=u", "--check"], .check, .default),
            (["--check", "--online"], .check, .default),
            (["--print-config"], .printConfiguration, .default),
            (["--print-config", "--config", "a"], .printConfiguration, .file("a")),
            (["--list-messages"], .listMessages, .default),
            (["--list-catalog"], .listCatalog, .default),
            (["--version"], .printVersion, .default),
            (["-h"], .printHelp, .default),
            (["--version", "--help"], .printHelp, .default),
        ])
    func accepted(arguments: [String], action: DaemonOptions.Action, source: ConfigurationSource) throws {
        let options = try DaemonOptions(arguments)
        #expect(options.action == action)
        #expect(options.source == source)
    }

    @Test(
        "Unknown, repeated, incomplete and contradictory arguments are usage errors",
        arguments: [
            ["--config"], ["--config="], ["a"], ["--what"], ["--check", "a", "b"], ["--check", "a", "--config", "b"],
            ["--check", "--version"], ["--version=1"], ["--help=x"], ["--check="], ["-x"], ["--", "a"], [""],
            ["--config", "a", "--config", "b"], ["--user", "u"], ["--check", "--user"], ["--user=", "--check"],
            ["--user=a", "--user=b", "--check"], ["--online"], ["--check", "--online=x"],
            ["--print-config", "--online"],
        ])
    func refused(arguments: [String]) {
        #expect(throws: UsageError.self) { try DaemonOptions(arguments) }
    }

    private struct Decision: Equatable {
        /// The exit status; nil if the daemon runs.
        var code: Int32?
        var output: String
        var complaints: String

        init(_ code: Int32?, _ output: String, _ complaints: String) {
            (self.code, self.output, self.complaints) = (code, output, complaints)
        }
    }

    private func decide(_ arguments: [String], in environment: HostEnvironment) -> Decision {
        var (output, complaints) = ("", "")
        let start = DaemonStart.decide(
            arguments: arguments, environment: environment, output: { output += $0 }, errorOutput: { complaints += $0 })
        switch start {
        case .run: return Decision(nil, output, complaints)
        case .exit(let code): return Decision(code.rawValue, output, complaints)
        }
    }

    @Test("A probable mistake is a warning, not an error")
    func warning() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("token", to: "token", mode: 0o600)
        let file = try folder.write("[OTLP]\nURL=http://far:4318\nCredential=\(token)\n", to: "a.conf")
        let found = decide(["--check", file, "--user", "\(getuid())"], in: folder.environment())
        #expect(found.code == 0 && found.output == "\(file): no errors\n")
        #expect(
            found.complaints.contains(
                "\nWarning: \(file):2: Destination otlp: its credential is sent to far:4318 unencrypted"))
    }

    @Test("A check lists all errors and exits with 78, or names the files that it read and exits with 0")
    func check() throws {
        let folder = try ConfigurationFolder()
        let environment = folder.environment()
        let user = ["--user", "\(getuid())"]
        let good = try folder.write("[Log]\nLevel=info\n", to: "good.conf")
        let bad = try folder.write("[Log]\nLevle=info\nTarget=x\n", to: "bad.conf")

        let notice = "Files checked as user \(UserDatabase.user(named: "\(getuid())")?.name ?? "\(getuid())").\n"
        #expect(decide(["--check", good] + user, in: environment) == Decision(0, "\(good): no errors\n", notice))
        #expect(
            decide(["--check", ShippedFile.path] + user, in: environment)
                == Decision(0, "\(ShippedFile.path): no errors\n", notice))
        let found = decide(["--check", bad] + user, in: environment)
        #expect(found.code == 78 && found.output.isEmpty)
        #expect(found.complaints.split(separator: "\n").count == 3)
        #expect(
            found.complaints.hasPrefix("\(notice)\(bad):2: [Log] has no key Levle=. Did you mean Level=?\n\(bad):3: "))
        let doubtful = try folder.write("[Elasticsearch]\nURL=https://127.0.0.1\nIndex=Issues\n", to: "doubtful.conf")
        let warned = decide(["--check", doubtful] + user, in: environment)
        #expect(warned.code == 0)
        #expect(
            warned.complaints.contains("\nWarning: \(doubtful):3: Destination elasticsearch: Index=Issues has capital"))
        let relative = decide(["--check", "no-such-file.conf"] + user, in: environment)
        #expect(
            relative.complaints.contains("\(FileManager.default.currentDirectoryPath)/no-such-file.conf"),
            "\(relative.complaints)")
        // The daemon itself starts despite the errors.
        #expect(decide(["--config", bad], in: environment).code == nil)
        let printed = decide(["--print-config", "--config", bad], in: environment)
        #expect(printed.code == 78)
        #expect(printed.output.hasPrefix("# The configuration has errors. These are the values of the lines without"))
        #expect(printed.output.contains("\n# \(bad):2: [Log] has no key Levle=. Did you mean Level=?\n"))
        #expect(printed.output.contains("\nLevel=notice"))
        #expect(decide(["--config", good], in: environment) == Decision(nil, "", ""))
    }

    @Test("A check exits with 73 if the daemon would not use the folder of the database")
    func folder() throws {
        let folder = try ConfigurationFolder()
        let open = "\(folder.path)/open"
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        let file = try folder.write("[Store]\nPath=\(open)/issues.db\n", to: "a.conf")
        func check() -> Decision { decide(["--check", file, "--user", "\(getuid())"], in: folder.environment()) }
        #expect(check().code == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open)
        let found = check()
        #expect(found.code == 73 && found.output.isEmpty)
        #expect(
            found.complaints.hasSuffix("the folder \(open) is writable by others (mode 0777); expected 0700\n"))
    }

    @Test("A successful check counts the drop-ins")
    func verdict() throws {
        let folder = try ConfigurationFolder()
        let (environment, main) = (folder.environment(), "\(folder.path)/issued.conf")
        func verdict() -> String { decide(["--check", "--user", "\(getuid())"], in: environment).output }
        #expect(verdict() == "no configuration file: no errors\n")
        try folder.write("[Log]\nLevel=info\n", to: "issued.conf.d/a.conf")
        #expect(verdict() == "1 file in \(main).d: no errors\n")
        try folder.write("", to: "issued.conf")
        #expect(verdict() == "\(main) and 1 file in issued.conf.d: no errors\n")
        try folder.write("[Log]\nLevel=debug\n", to: "issued.conf.d/b.conf")
        #expect(verdict() == "\(main) and 2 files in issued.conf.d: no errors\n")
    }

    @Test(
        "A check names each credential that it can't check because only root can read it", .enabled(if: getuid() != 0))
    func unchecked() throws {
        let folder = try ConfigurationFolder()
        let file = try folder.write("[LogzIO]\nRegion=eu\n", to: "a.conf")
        try folder.write("token", to: "credstore/logzio-token", mode: 0)
        #expect(
            decide(["--check", file, "--user", "\(getuid())"], in: folder.environment()).output == """
                \(file): no errors
                The credential of destination logzio was not checked: only root can read \(folder.path)/credstore.

                """)
    }

    @Test("An ordinary user who can't use the host's socket learns how to run a daemon of their own")
    func socketHint() throws {
        let folder = try ConfigurationFolder()
        let user = folder.environment(userID: 4321)
        func hint(_ error: Errno, _ path: String, _ source: ConfigurationSource, _ host: HostEnvironment) -> String {
            Daemon.socketHint(error, at: path, source, host)
        }
        let busy = "another daemon is listening there"
        for error in [Errno.addressInUse, .accessDenied] {
            #expect(hint(error, "/run/x.sock", .default, user).hasSuffix("name another file with --config"))
        }
        #expect(hint(.addressInUse, "/run/x.sock", .default, user).hasPrefix(busy + "; the path is from"))
        #expect(hint(.addressInUse, user.userConfiguration.socket.path, .default, user) == busy)
        #expect(hint(.addressInUse, "/run/x.sock", .file("/x.conf"), user) == busy)
        #expect(hint(.addressInUse, "/run/x.sock", .default, folder.environment(userID: 0)) == busy)
    }

    @Test("Requested output goes to standard output, and an invalid command line exits with 64")
    func answers() throws {
        let folder = try ConfigurationFolder()
        let environment = folder.environment(userID: 0)

        #expect(decide(["--version"], in: environment) == Decision(0, "issued \(ProductVersion.text)\n", ""))
        #expect(decide(["--help"], in: environment).output.contains("--print-config"))
        #expect(
            decide(["--print-config"], in: environment).output.hasPrefix(
                "# No configuration file.\n\n[Socket]\n# default\nPath="))
        #expect(decide(["--list-messages"], in: environment) == Decision(0, MessagePage.text, ""))
        let wrong = decide(["--chekc"], in: environment)
        #expect(wrong.code == 64 && wrong.output.isEmpty)
        #expect(wrong.complaints == "issued: unknown option --chekc. Did you mean --check? See “issued --help”.\n")
    }
}
