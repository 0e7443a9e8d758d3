import Issues
import Testing
import UnixIO

@Suite("Lines on standard error")
struct StandardErrorLineTests {
    private enum Refusal: Error {
        case card(number: Int)
    }

    private func instant(_ seconds: Int) -> KernelInstant { KernelInstant(nanoseconds: Int64(seconds) * 1_000_000_000) }

    private func key(_ message: String, line: UInt = 1, level: IssueLevel = .error) -> LineThrottle.Key {
        LineThrottle.Key(IssueReport(message, level: level, fileID: "Shop/Cart.swift", line: line))
    }

    @Test("A line has the message of the report: the caller's message, followed by the error")
    func order() {
        let report = IssueReport(Refusal.card(number: 7), "Paying", fileID: "Shop/Cart.swift", line: 4)
        #expect(StandardErrorLine.text(report) == "Shop/Cart.swift:4: error: Paying: Refusal.card(number: 7)")
        #expect(report.message == "Paying: Refusal.card(number: 7)")
    }

    @Test("After ten similar lines, only one per second is written, with the number of lines left out before it")
    func throttled() {
        var throttle = LineThrottle()
        let key = key("a")
        #expect(
            (0..<10).map { _ in throttle.decide(key, at: instant(0)) }
                == Array(repeating: .write(omitted: 0), count: 10))
        #expect(throttle.decide(key, at: instant(0)) == .announce)
        #expect((0..<500).allSatisfy { _ in throttle.decide(key, at: instant(0)) == .omit })
        #expect(throttle.decide(key, at: instant(1)) == .write(omitted: 501))
        #expect(throttle.decide(key, at: instant(1)) == .omit)
        #expect(throttle.decide(key, at: instant(2)) == .write(omitted: 1))
        // After a pause, ten lines are written again.
        #expect(throttle.decide(key, at: instant(60)) == .write(omitted: 0))
        for _ in 0..<9 { #expect(throttle.decide(key, at: instant(60)) == .write(omitted: 0)) }
        #expect(throttle.decide(key, at: instant(60)) == .announce)
    }

    @Test("Lines are similar if they have the same location, level and constant text")
    func similar() {
        #expect(key("Order 17 failed") == key("Order 4711 failed"))
        #expect(key("Order 17 failed") != key("Order 17 lost"))
        #expect(key("a") != key("a", line: 2))
        #expect(key("a") != key("a", level: .warning))
        func report(_ name: String) -> LineThrottle.Key {
            LineThrottle.Key(IssueReport("User \(name) not found", fileID: "Shop/Cart.swift", line: 1))
        }
        #expect(report("ann") == report("bob"))
        // Both file names are known only at run time.
        func report(in file: String) -> LineThrottle.Key {
            LineThrottle.Key(IssueReport("a", site: IssueSite(fileID: file.lowercased(), line: 1)))
        }
        #expect(report(in: "a.swift") != report(in: "b.swift"))
    }

    @Test("The lines of many locations silence no other location, and only a limited number of locations is remembered")
    func bounded() {
        var throttle = LineThrottle()
        for _ in 0..<11 { _ = throttle.decide(key("a", line: 0), at: instant(0)) }
        for line in 1...1000 {
            #expect(throttle.decide(key("a", line: UInt(line)), at: instant(0)) == .write(omitted: 0))
        }
        // The eleven lines above are forgotten; otherwise, this line would be left out.
        #expect(throttle.decide(key("a", line: 0), at: instant(0)) == .write(omitted: 0))
    }
}
