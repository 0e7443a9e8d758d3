import IssueCore
import Testing

@testable import IssueDaemon

@Suite("[Redaction]")
struct RedactionConfigurationTests {
    @Test("Each rule has a key with its action, and lists of names can be extended")
    func keys() throws {
        let folder = try ConfigurationFolder()
        let lines = RedactionRule.allCases.map { rule in
            ConfigurationTable.redaction.first { $0.name.lowercased() == rule.rawValue }.map { "\($0.name)=hash" }
                ?? "?"
        }
        let text = "[Redaction]\n" + lines.joined(separator: "\n") + "\nKeys=badge x-pin\nPlainKeys=push_token\n"
        #expect(folder.problems(of: text).isEmpty)
        let settings = try folder.load(text).redaction
        for rule in RedactionRule.allCases { #expect(settings[rule] == .hash) }
        #expect(settings.keys == ["badge", "x-pin"])
        #expect(settings.plainKeys == ["push_token"])
    }

    @Test("An invalid action, an invalid name in a list and an unknown key are errors")
    func errors() throws {
        let folder = try ConfigurationFolder()
        let problems = folder.problems(of: "[Redaction]\nPassword=yes\nKeys=a,b\nPasswords=mask\n")
        #expect(problems.count == 3)
        #expect(problems.first == "issued.conf:2: Invalid Password=yes; expected off, mask, hash or remove.")
    }
}
