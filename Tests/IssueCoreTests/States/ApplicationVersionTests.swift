import IssueCore
import Testing

@Suite("Versions of an application")
struct ApplicationVersionTests {
    private func isNewer(_ left: String, _ right: String) -> Bool {
        ApplicationVersion(text: left).isNewer(than: ApplicationVersion(text: right))
    }

    @Test("Versions are ordered by their numbers, with a pre-release before its release, and then by their builds")
    func order() {
        let versions = [
            "0.9", "1.0-alpha", "1.0-alpha.2", "1.0-alpha.10", "1.0-beta", "1.0", "1.0.1", "1.2", "1.10", "1.10+1",
            "1.10+2", "v2.0", "2.0 (7)", "2.0 (12)", "2.0.0.1", "18446744073709551616",
        ]
        for (index, version) in versions.enumerated() {
            for (otherIndex, other) in versions.enumerated()
            where otherIndex != index && !(version + other).contains("2.0 (7)v") {
                if Set([version, other]).isSubset(of: ["v2.0", "2.0 (7)", "2.0 (12)"]),
                    [version, other].contains("v2.0")
                {
                    // If only one has a build, neither is newer.
                    #expect(!isNewer(version, other), "\(version) is no newer than \(other)")
                } else {
                    #expect(isNewer(version, other) == (index > otherIndex), "\(version) and \(other)")
                }
            }
        }
    }

    @Test("No version is newer than itself, however it is written")
    func same() {
        for (left, right) in [("1.0", "1.0.0"), ("v3", "3"), ("01.2", "1.2"), ("", ""), ("(5)", "(5)"), ("x", "x")] {
            #expect(!isNewer(left, right))
            #expect(!isNewer(right, left))
        }
    }

    @Test("Builds of the same number are ordered, however the number is written")
    func builds() {
        func precedes(_ left: String, _ right: String) -> Bool? {
            ApplicationVersion(text: left).precedes(ApplicationVersion(text: right))
        }
        #expect(precedes("2.0 (1)", "2.0.0 (2)") == true)
        #expect(precedes("2.0.0 (2)", "2.0 (1)") == false)
        #expect(precedes("2.0", "2.0.0 (2)") == false)
        #expect(precedes("2.0", "2.0 (2)") == nil)
    }

    @Test("A version name is newer than none, and versions without a name are compared by build")
    func unnamed() {
        #expect(isNewer("1.0", ""))
        #expect(!isNewer("", "1.0"))
        #expect(isNewer("(3)", ""))
        #expect(isNewer("(3)", "(2)"))
        #expect(!isNewer("(2)", "(3)"))
    }

    @Test("Version names without an order: any name other than the known one counts as newer")
    func words() {
        #expect(isNewer("9f8e7d6", "c0ffee1"))
        #expect(isNewer("c0ffee1", "9f8e7d6"))
        var newest = ApplicationVersion()
        for version in ["1.9", "2.1", "2.0", ""] { newest.raise(to: ApplicationVersion(text: version)) }
        #expect(newest.text == "2.1")
    }

    @Test(
        "A version keeps its text",
        arguments: [
            "", "2.0.0", "2.0.0 (2500)", "(7)", "a (b)", "1 (2) (3)", "(", ")", "1 (+2)", "(02)", "1 (-0)", "1 (-2)",
        ])
    func text(text: String) {
        #expect(ApplicationVersion(text: text).text == text)
    }
}
