import IssueCore
import Testing

@Suite("Growth of the database")
struct GrowthReserveTests {
    private let reserve = GrowthReserve(plenty: 1000, maxWALBytes: 100, minFreeBytes: 0)

    private func step(
        by growth: Int64, free: Int64?, log: Int64 = 0, mayUseReserve: Bool = false
    ) -> GrowthReserve.Step {
        reserve.committing(
            databaseBytes: 500 + growth, fileBytes: 500, walBytes: log, freeBytes: free,
            mayUseReserve: mayUseReserve)
    }

    @Test(
        "Growth of the database is allowed without a check if free space is plentiful or unknown"
    )
    func plenty() {
        #expect(step(by: 10, free: 1010) == .commit)
        #expect(step(by: 10, free: nil) == .commit)
    }

    @Test("Growth of the database extends the file before the commit if space is short")
    func little() {
        #expect(step(by: 10, free: 1009) == .extend)
        #expect(step(by: 10, free: 110) == .extend)
    }

    @Test("Growth of the database may not use the space reserved for the WAL unless the commit frees space")
    func refused() {
        #expect(step(by: 10, free: 109) == .refuse)
        #expect(step(by: 10, free: 109, mayUseReserve: true) == .extend)
        #expect(step(by: 10, free: 9, mayUseReserve: true) == .refuse)
    }

    @Test("Growth of the database may use the space that the WAL has already allocated")
    func log() {
        #expect(step(by: 10, free: 50, log: 60) == .extend)
        #expect(step(by: 10, free: 49, log: 60) == .refuse)
        #expect(step(by: 10, free: 10, log: 500) == .extend)
    }

    @Test("Growth of the database is always allowed within the file's own free pages")
    func nothing() {
        #expect(step(by: 0, free: 0) == .commit)
        #expect(step(by: -10, free: 0) == .commit)
    }
}
