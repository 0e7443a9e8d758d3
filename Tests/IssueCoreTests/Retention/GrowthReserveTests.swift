import IssueCore
import Testing

@Suite("A database may grow")
struct GrowthReserveTests {
    private let reserve = GrowthReserve(plenty: 1000, log: 100, least: 0)

    private func step(
        by owed: Int64, free: Int64?, log: Int64 = 0, mayUseReserve: Bool = false
    ) -> GrowthReserve.Step {
        reserve.committing(
            databaseBytes: 500 + owed, fileBytes: 500, logBytes: log, freeBytes: free, mayUseReserve: mayUseReserve)
    }

    @Test("without a look where plenty is free, or where nobody knows what is")
    func plenty() {
        #expect(step(by: 10, free: 1010) == .commit)
        #expect(step(by: 10, free: nil) == .commit)
    }

    @Test("by pages that its file has before the commit, where little is free")
    func little() {
        #expect(step(by: 10, free: 1009) == .extend)
        #expect(step(by: 10, free: 110) == .extend)
    }

    @Test("not into what its log needs, unless that makes room")
    func refused() {
        #expect(step(by: 10, free: 109) == .refuse)
        #expect(step(by: 10, free: 109, mayUseReserve: true) == .extend)
        #expect(step(by: 10, free: 9, mayUseReserve: true) == .refuse)
    }

    @Test("into the space that its log has already")
    func log() {
        #expect(step(by: 10, free: 50, log: 60) == .extend)
        #expect(step(by: 10, free: 49, log: 60) == .refuse)
        #expect(step(by: 10, free: 10, log: 500) == .extend)
    }

    @Test("always by nothing: what is free in the file itself is enough for any commit")
    func nothing() {
        #expect(step(by: 0, free: 0) == .commit)
        #expect(step(by: -10, free: 0) == .commit)
    }
}
