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

    @Test("On a small file system, most of the space is left for records; on a large one, the limits are fixed")
    func smallFileSystem() {
        let large = DiskBudget()
        #expect(large == DiskBudget(fileSystemBytes: 1 << 30))
        #expect(large.checkpointBytes == 4 << 20)
        #expect(large.sufficientBytes == 16 << 20)
        let small = DiskBudget(fileSystemBytes: 20 << 20)
        #expect(small.sufficientBytes == 5 << 20)
        #expect(2 * small.checkpointBytes < small.typicalWALBytes)
        // With the space that is kept free, a commit is not refused although the WAL file is empty.
        #expect(
            small.reserve.committing(
                databaseBytes: 10 << 20, fileBytes: 9 << 20, walBytes: 0, walGrows: true,
                freeBytes: small.sufficientBytes, mayUseReserve: false) == .extend)
        var settings = RetentionSettings(keepFree: 256 << 20)
        settings.adapt(toFileSystemOf: 20 << 20)
        #expect(settings.keepFree == 10 << 20)
        settings.keepFree = 0
        settings.adapt(toFileSystemOf: 20 << 20)
        #expect(settings.keepFree == 5 << 20)
        settings.adapt(toFileSystemOf: nil)
        #expect(settings.keepFree == 16 << 20)
    }

    @Test(
        "Growth of the database does not extend the file before the commit if free space is plentiful or unknown"
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
