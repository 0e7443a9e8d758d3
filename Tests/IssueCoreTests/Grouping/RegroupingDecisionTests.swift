import IssueProtocol
import Testing

@testable import IssueCore

@Suite("What happens to a group of an older fingerprint rule")
struct RegroupingDecisionTests {
    private func series(_ template: String) -> SeriesDescription {
        var series = SeriesDescription()
        series.domain = "d"
        series.template = Array(template.utf8)
        return series
    }

    private func current(_ template: String) -> String { Fingerprint.of(series(template), app: "shop") }

    private func fingerprint(_ template: String, message: String? = nil) -> String? {
        Regrouping.fingerprint(
            of: Regrouping.Subject(
                fingerprint: "old", series: series(template), app: "shop", message: message.map { Array($0.utf8) }))
    }

    @Test(
        "A template of rule 1 gets the fingerprint of rule 2",
        arguments: [
            ("blk_-\u{1} is gone", "\u{1} is gone"), ("0-\u{2} at \u{5}", "\u{1} at \u{5}"),
            ("read \u{4} from \u{6}", "read \u{4} from \u{6}"), ("uid=\u{1} user=root", "uid=\u{1} user=\u{1}"),
        ])
    func fromTemplate(old: String, new: String) {
        #expect(fingerprint(old) == current(new))
    }

    @Test("If the group's first message is stored, the new fingerprint is computed from this message")
    func fromMessage() {
        #expect(
            fingerprint("at Fri Jun \u{1} \u{1}:\u{1}:\u{1} \u{1}", message: "at Fri Jun 17 20:42:05 2005")
                == current("at \u{1}"))
    }

    @Test("A fingerprint that the sender has chosen is not replaced, and a template that the sender gave is kept")
    func chosen() {
        var chosen = series("m")
        chosen.fingerprint = "mine"
        #expect(Regrouping.fingerprint(of: .init(fingerprint: "mine", series: chosen, app: "shop")) == nil)
        #expect(Regrouping.fingerprint(of: .init(fingerprint: "mine", series: nil, app: "shop")) == nil)
        #expect(
            fingerprint("user \u{7} not found 5", message: "user 7 not found 5") == current("user \u{7} not found 5"))
    }

    @Test("A title is used as the template unless it was cut")
    func title() {
        #expect(Regrouping.template(ofTitle: "a <n> at <path>, <x>") == Array("a \u{1} at \u{5}, <x>".utf8))
        #expect(Regrouping.template(ofTitle: String(repeating: "a", count: 200)) == nil)
        let source = SourceLocation(fileID: "Shop/Cart.swift", line: 7, function: "f()")
        #expect(Regrouping.template(ofTitle: "<value> in f() (Cart.swift:7)", at: source) == [7])
        #expect(Regrouping.template(ofTitle: "<value> in g() (Cart.swift:7)", at: source)?.count ?? 0 > 1)
        let words = "Lost in f() (Cart.swift:7)"
        #expect(Regrouping.template(ofTitle: words, at: source) == Array(words.utf8))
    }

    @Test("A group keeps its fingerprint, gets the new one, or is merged into the group that has it")
    func decisions() {
        func decision(_ new: String?, _ holder: GroupID?) -> Regrouping.Decision {
            Regrouping.decision(fingerprint: "a", newFingerprint: new, holder: holder)
        }
        #expect(decision(nil, nil) == .keep)
        #expect(decision("a", nil) == .keep)
        #expect(decision("b", nil) == .change(fingerprint: "b"))
        #expect(decision("b", 7) == .merge(into: 7))
    }

    private static let older = ApplicationVersion(name: "1.0")
    private static let newer = ApplicationVersion(name: "2.0")
    private static let soon = IssueTimestamp(millisecondsSince1970: 1)
    private static let late = IssueTimestamp(millisecondsSince1970: 2)

    @Test(
        "Of two states, the one that alerts sooner wins, in either order",
        arguments: [
            (TriageState(hasRegressed: true), TriageState()),
            (TriageState(change: IssueStateChange(user: 7, time: soon)), TriageState()),
            (TriageState(), TriageState(.resolved)),
            (TriageState(), TriageState(.muted)),
            (TriageState(.resolved), TriageState(.muted, mutedUntil: soon)),
            (TriageState(.resolved), TriageState(.resolved, knownVersion: older)),
            (TriageState(.resolved, knownVersion: older), TriageState(.resolved, knownVersion: newer)),
            (TriageState(.muted, mutedUntil: soon), TriageState(.muted, mutedUntil: late)),
            (TriageState(.muted, mutedUntil: late), TriageState(.muted)),
            (TriageState(.muted, knownVersion: newer), TriageState(.muted)),
            (TriageState(.muted, knownVersion: older), TriageState(.muted, knownVersion: newer)),
        ])
    func states(winner: TriageState, loser: TriageState) {
        #expect(TriageState.merged(winner, loser) == winner)
        #expect(TriageState.merged(loser, winner) == winner)
        #expect(TriageState.merged(winner, winner) == winner)
    }
}
