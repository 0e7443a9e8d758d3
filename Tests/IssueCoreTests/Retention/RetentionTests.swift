import IssueCore
import Testing

@Suite("Retention")
struct RetentionTests {
    private static let day: Int64 = 86_400_000
    private static let maxSize: Int64 = 1 << 20
    private static let retention = Retention(
        settings: RetentionSettings(maxSize: maxSize, maxAge: .seconds(30 * 86_400), keepFree: 500))

    /// A snapshot of a database of which 500 bytes can be freed.
    private func snapshot(
        age: Int64? = 0, hasBatchInFlight: Bool = false, openFor: Int64? = nil,
        used: Int64 = RetentionUsage.emptyBytes + 500,
        spare: Int64 = 0, free: Int64? = 10_000
    ) -> RetentionSnapshot {
        let now = RecordLogInstant(milliseconds: 1000 * Self.day)
        func ago(_ age: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: now.milliseconds - age) }
        return RetentionSnapshot(
            oldest: age.map {
                RetentionSnapshot.ClosedRange(
                    id: 3, firstID: 200, lastID: 299, newest: ago($0), hasBatchInFlight: hasBatchInFlight)
            },
            openSince: openFor.map(ago), usedBytes: used, spareBytes: spare, freeBytes: free, now: now)
    }

    private func reason(_ snapshot: RetentionSnapshot) -> Retention.Reason? {
        guard case .forget(let range, let reason) = Self.retention.next(snapshot) else { return nil }
        return range == snapshot.oldest ? reason : nil
    }

    @Test("Retention removes the oldest range when its newest record reaches the maximum age, and not before")
    func age() {
        #expect(reason(snapshot(age: 30 * Self.day)) == .age)
        #expect(reason(snapshot(age: 30 * Self.day - 1)) == nil)
    }

    @Test("Retention keeps a range for twice as long while a batch with its records is in flight")
    func underWay() {
        #expect(reason(snapshot(age: 31 * Self.day, hasBatchInFlight: true)) == nil)
        #expect(reason(snapshot(age: 60 * Self.day, hasBatchInFlight: true)) == .age)
        #expect(reason(snapshot(hasBatchInFlight: true, used: Self.maxSize + 1)) == .size)
    }

    @Test("Retention removes a range when the database exceeds its maximum size, not counting free pages")
    func size() {
        #expect(reason(snapshot(used: Self.maxSize + 1)) == .size)
        #expect(reason(snapshot(used: Self.maxSize, spare: 5000)) == nil)
    }

    @Test("Retention removes a range when free space is too low, counting what the database can give back")
    func freeSpace() {
        #expect(reason(snapshot(free: 499)) == .freeSpace)
        #expect(reason(snapshot(spare: 1, free: 499)) == nil)
        #expect(reason(snapshot(free: nil)) == nil)
    }

    @Test("Retention removes nothing for free space if even removing all records would not free enough")
    func unreachableFreeSpace() {
        let empty = RetentionUsage.emptyBytes
        #expect(reason(snapshot(used: empty + 300, free: 200)) == .freeSpace)
        #expect(reason(snapshot(used: empty + 299, free: 200)) == nil)
        #expect(!Self.retention.lacksRoom(snapshot(used: empty + 299, free: 200)))
        #expect(Self.retention.freeSpace(snapshot(used: empty + 299, free: 200)) == .unreachable)
        #expect(Self.retention.freeSpace(snapshot(used: 0, free: 499)) == .unreachable)
        #expect(Self.retention.freeSpace(snapshot(used: 0, free: 500)) == .enough)
        // The limits on size and age still apply.
        #expect(reason(snapshot(age: 30 * Self.day, used: 0, free: 0)) == .age)
        var full = Self.retention
        full.settings.keepFree = 4 << 20
        #expect(full.next(snapshot(used: 2 << 20, free: 0)) != .wait(.seconds(60)))
        #expect(full.freeSpace(snapshot(used: 2 << 20, free: 0)) == .unreachable)
    }

    @Test("A goal for free space that can be reached stays reachable while records are removed for it")
    func reachableThroughout() {
        let used = RetentionUsage.emptyBytes + 400
        for removed: Int64 in 0..<400 {
            #expect(reason(snapshot(used: used - removed, spare: removed, free: 100)) == .freeSpace)
        }
        #expect(reason(snapshot(used: used - 400, spare: 400, free: 100)) == nil)
    }

    @Test("Retention removes nothing because of the WAL's size, which a checkpoint reduces")
    func excessWAL() {
        var snapshot = snapshot(free: 100)
        #expect(reason(snapshot) == .freeSpace)
        snapshot.excessWALBytes = 399
        #expect(reason(snapshot) == .freeSpace)
        snapshot.excessWALBytes = 400
        #expect(reason(snapshot) == nil)
        #expect(!Self.retention.lacksRoom(snapshot))
        snapshot.freeBytes = 0
        snapshot.excessWALBytes = .max
        #expect(reason(snapshot) == nil)
        snapshot.usedBytes = Self.maxSize + 1
        #expect(reason(snapshot) == .size)
    }

    @Test("Retention never removes the open range, but closes it when its records are old")
    func openRange() {
        #expect(Self.retention.next(snapshot(age: nil, openFor: Self.day - 1, used: 2 << 20)) == .wait(.seconds(60)))
        #expect(Self.retention.next(snapshot(age: nil, openFor: Self.day)) == .closeRange)
        var short = Self.retention
        short.settings.maxAge = .seconds(86_400)
        #expect(short.next(snapshot(age: nil, openFor: Self.day / 10)) == .closeRange)
        #expect(short.next(snapshot(age: nil, openFor: Self.day / 10 - 1)) == .wait(.seconds(60)))
    }

    @Test("Retention checks again after a minute, or when the oldest range is due")
    func looksAgain() {
        #expect(Self.retention.next(snapshot(age: 0)) == .wait(.seconds(60)))
        #expect(Self.retention.next(snapshot(age: 30 * Self.day - 5000)) == .wait(.seconds(5)))
        #expect(Self.retention.next(snapshot(age: 30 * Self.day - 1)) == .wait(.seconds(1)))
    }

    /// A database that is too large, with data of users 5 and 6. User 5 has more.
    private func crowded(_ unreferenced: UnreferencedSeries?) -> RetentionSnapshot {
        var snapshot = snapshot(used: 2_000_000)
        snapshot.unreferenced = unreferenced
        if let oldest = snapshot.oldest {
            snapshot.holdings = [(5, 800), (6, 500)].map {
                RetentionSnapshot.Holding(range: oldest, user: $0.0, bytes: $0.1, isSettled: true)
            }
        }
        return snapshot
    }

    @Test("Before records are removed for space, series without records are counted once and removed")
    func collectsFirst() {
        let retention = Retention(settings: RetentionSettings(maxSize: 1 << 20, keepFree: 0))
        #expect(retention.next(crowded(nil)) == .countUnreferenced)
        var unreferenced = UnreferencedSeries()
        // Up to 256 KiB of a user's series without records are kept.
        for _ in 0..<512 { unreferenced.add(keyBytes: 56, of: 6) }
        for _ in 0..<500 { unreferenced.add(keyBytes: 56, of: 5) }
        guard case .thin(let holding, .size) = retention.next(crowded(unreferenced)) else {
            Issue.record("no records are removed")
            return
        }
        #expect(holding.user == 5)
        unreferenced.add(keyBytes: 0, of: 6)
        #expect(retention.next(crowded(unreferenced)) == .collect([6]))
        unreferenced.remove([6])
        #expect(unreferenced.users(maxSize: 1 << 20, AccountableUsers()) == [])
    }

    @Test("Series without records of all ids of a user are counted together")
    func collectsOfAccountableUser() {
        var settings = RetentionSettings(maxSize: 1 << 20, keepFree: 0)
        settings.users = AccountableUsers(
            subordinates: Array("ann:100000:65536\n".utf8), users: Array("ann:x:1000:1000::/:/bin/sh\n".utf8))
        let retention = Retention(settings: settings)
        var unreferenced = UnreferencedSeries()
        unreferenced.add(keyBytes: 100 << 10, of: 100_001)
        unreferenced.add(keyBytes: 100 << 10, of: 6)
        guard case .thin = retention.next(crowded(unreferenced)) else {
            Issue.record("no records are removed")
            return
        }
        unreferenced.add(keyBytes: 100 << 10, of: 100_002)
        #expect(retention.next(crowded(unreferenced)) == .collect([100_001, 100_002]))
    }

    @Test("If one range has most of the data, only as much of it is removed as is needed")
    func trims() {
        let retention = Retention(settings: RetentionSettings(maxSize: 3 << 20, keepFree: 0))
        var snapshot = snapshot(used: (4 << 20) + RetentionUsage.emptyBytes)
        if let oldest = snapshot.oldest {
            snapshot.holdings = [RetentionSnapshot.Holding(range: oldest, user: 5, bytes: 7_000_000, isSettled: true)]
        }
        snapshot.openBytes = 1_000_000
        // The database exceeds its maximum size by 1.5 MiB of the 4 MiB that 8 MB of data take.
        #expect(
            retention.next(snapshot) == .trim(snapshot.holdings[0], fraction: 3_000_000.0 / 7_000_000, .size))
        let keepFree = Retention(settings: RetentionSettings(keepFree: 3 << 20))
        snapshot.freeBytes = 2 << 20
        #expect(
            keepFree.next(snapshot) == .trim(snapshot.holdings[0], fraction: 2_000_000.0 / 7_000_000, .freeSpace))
    }

    @Test("If space is short, an open range that is larger than a range should be is closed first")
    func closesLargeRange() {
        var snapshot = snapshot(used: Self.maxSize + 1)
        snapshot.isOpenRangeFull = true
        snapshot.freeBytes = 1 << 30
        #expect(Self.retention.next(snapshot) == .closeRange)
        snapshot.usedBytes = Self.maxSize
        #expect(Self.retention.next(snapshot) == .wait(.seconds(60)))
    }

    @Test("On a full disk, closed ranges are removed before the open range is closed, which needs space")
    func closesNothingOnFullDisk() {
        var snapshot = snapshot(used: Self.maxSize + 1)
        snapshot.isOpenRangeFull = true
        snapshot.freeBytes = 0
        #expect(Self.retention.next(snapshot) != .closeRange)
        snapshot.oldest = nil
        #expect(Self.retention.next(snapshot) == .closeRange)
    }

    @Test("An oldest range without records is removed, whatever its age")
    func emptyRange() {
        var snapshot = snapshot()
        #expect(reason(snapshot) == nil)
        snapshot.oldest?.isEmpty = true
        #expect(reason(snapshot) != nil)
    }

    @Test("A range is full at an eighth of what MaxSize= and KeepFree= leave; an unreachable KeepFree= is ignored")
    func rangeSize() {
        let settings = RetentionSettings(maxSize: 64 << 20, keepFree: 20 << 20)
        func size(free: Int64?) -> Int64 { settings.effectiveMaxSize(availableBytes: free, usedBytes: 10 << 20) }
        #expect(size(free: nil) == 64 << 20)
        #expect(size(free: 1 << 40) == 64 << 20)
        #expect(size(free: 30 << 20) == 20 << 20)
        #expect(size(free: 15 << 20) == 5 << 20)
        #expect(size(free: 1 << 20) == 64 << 20)
        func range(_ maxSize: Int64) -> Int {
            RetentionSettings.maxRangeBytes(inDatabaseOf: maxSize, limit: 16 << 20)
        }
        #expect(range(1 << 40) == 16 << 20)
        #expect(range(16 << 20) == 2 << 20)
        #expect(range(0) == 128 << 10)
    }

    @Test("In a large database, a user's series without records are kept up to 1/1024 of the maximum size")
    func allowance() {
        var unreferenced = UnreferencedSeries()
        unreferenced.add(keyBytes: 1 << 19, of: 5)
        #expect(unreferenced.users(maxSize: 1 << 30, AccountableUsers()) == [5])
        #expect(unreferenced.users(maxSize: 2 << 30, AccountableUsers()) == [])
        unreferenced.add(unreferenced)
        #expect(unreferenced.users(maxSize: 2 << 30, AccountableUsers()) == [5])
    }

    @Test("Series without records are not removed if records are removed only because of their age")
    func collectsForSpaceOnly() {
        var snapshot = snapshot(age: 30 * Self.day)
        #expect(reason(snapshot) == .age)
        var unreferenced = UnreferencedSeries()
        unreferenced.add(keyBytes: 1 << 30, of: 6)
        snapshot.unreferenced = unreferenced
        #expect(reason(snapshot) == .age)
        snapshot.oldest = nil
        #expect(Self.retention.next(snapshot) == .wait(.seconds(60)))
    }
}
