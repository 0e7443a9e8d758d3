import Destinations
import Foundation
import IssueCore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Destinations")
struct DestinationTests {
    private let secret = "NeverToBeSeenAnywhere0123456789"

    @Test(
        "The region determines the host, and the connection the port",
        arguments: [
            ("us", "listener.logz.io"), ("wa", "listener-wa.logz.io"), ("au", "listener-au.logz.io"),
            ("ca", "listener-ca.logz.io"), ("eu", "listener-eu.logz.io"), ("uk", "listener-uk.logz.io"),
            ("nl", "listener-nl.logz.io"),
        ])
    func regions(region: String, host: String) throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write(secret, to: "token", mode: 0o600)
        let text = "[LogzIO]\nRegion=\(region)\nCredential=\(token)\n"

        #expect(try folder.load(text).destinations.first?.address.url == "https://\(host):8071/")
        #expect(
            try folder.load(text + "Connection=insecure\n").destinations.first?.address.url == "http://\(host):8070/")
        #expect(
            try folder.load(text + "Connection=streaming\n").destinations.first?.address.url == "https://\(host):5052/")
    }

    @Test("Each destination has a name, and can override the general limits and rates")
    func several() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write(secret, to: "token", mode: 0o600)
        let configuration = try folder.load(
            """
            [LogzIO]
            Region=us
            Credential=\(token)
            GroupBurst=9
            SendRate=1/min
            [LogzIO second]
            URL=http://127.0.0.1:9000
            Connection=insecure
            Credential=\(token)
            GroupBurst=
            Type=other
            MetadataKey=meta
            Backlog=all
            [Forward]
            BatchRecords=7
            [Limits]
            GroupBurst=3
            [Limits shop]
            GroupBurst=1
            """)

        let (first, second) = (configuration.destinations[0], configuration.destinations[1])
        #expect([first.name, second.name] == ["logzio", "second"])
        #expect([first.settings.limits.groupBurst, second.settings.limits.groupBurst] == [9, 3])
        #expect(configuration.destinations.allSatisfy { $0.settings.forward.batchRecords == 7 })
        #expect(first.settings.forward.sendRate == Rate(1, per: .seconds(60)))
        #expect(first.settings.limits.overrides.count == 1)
        #expect(second.address.url == "http://127.0.0.1:9000/")
        #expect([first, second].map { $0.settings[option: "Connection"] } == ["secure", "insecure"])
        #expect(second.settings[option: "Type"] == "other" && second.settings[option: "MetadataKey"] == "meta")
        #expect([first.settings.backlog, second.settings.backlog] == [.new, .all])
        #expect(try first.tokenFile?.read() == TokenFile(path: token, kind: .credential).read())
    }

    @Test(
        "An invalid destination is reported with its line",
        arguments: [
            ("[LogzIO]\nCredential=/T\n", "issued.conf:1: [LogzIO] has no address"),
            ("[LogzIO]\nRegion=us\nURL=http://a\nCredential=/T\n", "issued.conf:3: [LogzIO] has both"),
            (
                "[LogzIO]\nURL=https://a\nConnection=insecure\nCredential=/T\n",
                "issued.conf:3: Connection=insecure uses http"
            ),
            ("[LogzIO]\nURL=ftp://a\nCredential=/T\n", "issued.conf:2: Invalid URL=…;"),
            (
                "[LogzIO]\nURL=http://a\nConnection=streaming\nCredential=/T\n",
                "issued.conf:3: Connection=streaming uses https"
            ),
            ("\n[LogzIO x]\nRegion=us\n", "issued.conf:2: [LogzIO x] has no shipping token"),
            ("[LogzIO]\nRegion=us\nCredential=/none\n", "issued.conf:3: [LogzIO] has no shipping token"),
            ("[LogzIO]\nRegion=us\nCredential=/T\nCAFile=/none\n", "issued.conf:4: CAFile=/none can't be read"),
            (
                "[LogzIO]\nRegion=us\nCredential=/T\n[LogzIO]\nType=a\n",
                "issued.conf:4: Destination [LogzIO] is defined twice"
            ),
            (
                "[LogzIO]\nRegion=us\nCredential=/T\n[LogzIO logzio]\nRegion=us\nCredential=/T\n",
                "issued.conf:4: Two destinations are named “logzio”"
            ),
            ("[LogzIO a/b]\nRegion=us\n", "issued.conf:1: Invalid destination name"),
            (
                "[LogzIO]\nRegion=us\nCredentials=/T\n",
                "issued.conf:3: [LogzIO] has no key Credentials=. Did you mean Credential=?"
            ),
            ("[LogzIO]\nRegion=us\nToken=x\n", "issued.conf:3: A token or password must not be in a"),
            ("[LogzIO]\nRegion=us\nPassword=x\n", "issued.conf:3: A token or password must not be in a"),
        ])
    func broken(text: String, beginning: String) throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write(secret, to: "token", mode: 0o600)
        let problems = folder.problems(of: text.replacingOccurrences(of: "/T\n", with: "\(token)\n"))
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.first?.hasPrefix(beginning) == true, "\(problems)")
    }

    @Test("A credential is read from the service manager's folder, and by --check from its source")
    func credentials() throws {
        let folder = try ConfigurationFolder()
        try folder.write(secret, to: "credentials/logzio-token", mode: 0o440)
        let text = "[LogzIO]\nRegion=us\n"
        let variables = ["CREDENTIALS_DIRECTORY": "\(folder.path)/credentials"]

        let configuration = try folder.load(text, variables)
        #expect(configuration.destinations.first?.tokenFile?.path == "\(folder.path)/credentials/logzio-token")
        #expect(folder.problems(of: text).count == 1)
        #expect(folder.problems(of: text, for: .inspecting).count == 1)
        try folder.write(secret, to: "credstore/logzio-token", mode: 0o600)
        #expect(folder.problems(of: text, for: .inspecting).isEmpty)
        #expect(folder.problems(of: text).count == 1)
    }

    @Test("The advice for a missing credential names LoadCredential= only if the unit does not have it")
    func advice() throws {
        let folder = try ConfigurationFolder()
        let variables = ["CREDENTIALS_DIRECTORY": "\(folder.path)/credentials"]
        let own = "Write the shipping token to credstore/logzio-token, readable only by root, and restart issued."
        let other = "add LoadCredential= with the name to the unit (systemctl edit issued), and restart issued."
        for (line, advice) in [("", own), ("Credential=logzio-token\n", own), ("Credential=second\n", other)] {
            let text = "[LogzIO]\nRegion=us\n\(line)"
            for problems in [
                folder.problems(of: text), folder.problems(of: text, variables),
                folder.problems(of: text, for: .inspecting),
            ] {
                #expect(problems.count == 1 && problems[0].hasSuffix(advice), "\(problems)")
            }
        }
    }

    @Test(
        "A token for Logz.io itself that is not 32 letters causes a warning, which does not contain the token",
        arguments: [
            (String(repeating: "aZ", count: 16), "Region=eu", false), ("NeverToBeSeen", "Region=eu", true),
            (String(repeating: "a", count: 31) + "0", "URL=https://listener.logz.io:8071", true),
            ("NeverToBeSeen", "URL=https://127.0.0.1:8071", false),
        ])
    func unusualToken(token: String, address: String, isWarned: Bool) throws {
        let folder = try ConfigurationFolder()
        let file = try folder.write(token, to: "token", mode: 0o600)
        let warnings = try folder.load("[LogzIO]\n\(address)\nCredential=\(file)\n").warnings
        let expected =
            "Destination logzio: its token does not look like a Logz.io token; expected 32 letters."
        #expect(warnings == (isWarned ? [expected] : []))
    }

    @Test("A token is trimmed, and read again after a change", arguments: ["abc", "abc\n", "  abc \r\n\n"])
    func trimmed(content: String) throws {
        let folder = try ConfigurationFolder()
        let file = TokenFile(path: try folder.write(content, to: "token", mode: 0o600), kind: .ownFile)
        let same = TokenFile(path: try folder.write("abc", to: "same", mode: 0o600), kind: .ownFile)
        #expect(try file.read() == same.read())
        try folder.write("new", to: "token", mode: 0o600)
        #expect(try file.read() != same.read())
    }

    @Test(
        "A file without a token is rejected",
        arguments: [
            ("", TokenFileError.empty), (" \n\n", .empty), ("a b", .notAToken), ("a\nb", .notAToken),
            ("a\u{1}", .notAToken),
            (String(repeating: "a", count: 5000), .notAToken),
            (String(repeating: "a", count: 9000), .tooLarge),
        ])
    func notAToken(content: String, error: TokenFileError) throws {
        let folder = try ConfigurationFolder()
        let path = try folder.write(content, to: "token", mode: 0o600)
        #expect(throws: error) { try TokenFile(path: path, kind: .ownFile).read() }
    }

    @Test(
        "A file that other users can access is rejected, unless it is a credential from the service manager",
        arguments: [
            0o640, 0o604, 0o660, 0o644, 0o601,
        ])
    func permissions(mode: Int) throws {
        let folder = try ConfigurationFolder()
        let path = try folder.write(secret, to: "token", mode: mode)

        #expect(throws: TokenFileError.accessibleByOthers(mode: UInt32(mode))) {
            try TokenFile(path: path, kind: .ownFile).read()
        }
        #expect(throws: Never.self) { try TokenFile(path: path, kind: .credential).read() }
        let problems = folder.problems(of: "[LogzIO]\nRegion=us\nCredential=\(path)\n")
        #expect(problems.count == 1 && problems[0].contains("expected 0600 or 0400"))
        #expect(!problems[0].contains(secret))
    }

    @Test("A file of another user, a folder and a pipe are rejected")
    func noFiles() throws {
        let folder = try ConfigurationFolder()
        let path = try folder.write(secret, to: "token", mode: 0o600)
        if getuid() == 0 {
            try FileManager.default.setAttributes([.ownerAccountID: 4321], ofItemAtPath: path)
            #expect(throws: TokenFileError.ownedByAnother(uid: 4321)) {
                try TokenFile(path: path, kind: .ownFile).read(asUser: 0)
            }
        } else {
            #expect(throws: TokenFileError.ownedByAnother(uid: getuid())) {
                try TokenFile(path: path, kind: .ownFile).read(asUser: getuid() + 1)
            }
        }
        try Process.run(URL(fileURLWithPath: "/usr/bin/mkfifo"), arguments: ["\(folder.path)/pipe"]).waitUntilExit()
        for name in ["", "/pipe"] {
            #expect(throws: TokenFileError.notAFile) {
                try TokenFile(path: "\(folder.path)\(name)", kind: .ownFile).read()
            }
        }
        #expect(throws: TokenFileError.unreadable(.noSuchFile)) {
            try TokenFile(path: "\(folder.path)/none", kind: .ownFile).read()
        }
    }

    @Test("Printing a token in any way does not reveal it")
    func neverPrinted() throws {
        struct Holder<Token> { var token: Token }
        let folder = try ConfigurationFolder()
        let token = try TokenFile(path: folder.write(secret, to: "token", mode: 0o600), kind: .ownFile).read()
        var dumped = ""
        dump(token, to: &dumped)
        dump(Holder(token: token), to: &dumped)
        dump([token: [token]], to: &dumped)
        let texts = [
            "\(token)", String(describing: token), String(reflecting: token), "\(Holder(token: token))",
            String(reflecting: Holder(token: token)), "\([token])", "\(["a": token])", "\(Optional(token) as Any)",
            "\(Mirror(reflecting: token).children.map { $0.value })", "\(Mirror(reflecting: token))", dumped,
        ]
        #expect(texts.allSatisfy { !$0.contains("NeverToBeSeen") })
    }

    @Test(
        "A token in the wrong place is not repeated in the error",
        arguments: [
            "Token=%", "token=%", "ShippingToken=%", "Credential=%", "URL=https://listener.logz.io:8071/?token=%",
            "Proxy=http://user:%@proxy:1", "%",
        ])
    func wrongPlace(template: String) throws {
        let folder = try ConfigurationFolder()
        let line = template.replacing("%", with: secret)
        for purpose in [ConfigurationPurpose.running, .inspecting] {
            let problems = folder.problems(of: "[LogzIO]\nRegion=us\n\(line)\n", for: purpose)
            #expect(!problems.isEmpty)
            #expect(!problems.joined().contains("NeverToBeSeen"), "\(problems)")
        }
    }
}
