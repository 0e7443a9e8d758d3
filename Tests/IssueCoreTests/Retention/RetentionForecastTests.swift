import IssueCore
import IssueProtocol
import Testing

@Suite("What retention removes next")
struct RetentionForecastTests {
    private static let day: Int64 = 86_400
    private let now = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private func settings() -> RetentionSettings {
        RetentionSettings(
            maxSize: RetentionUsage.emptyBytes + 1 << 30, maxAge: .seconds(30 * Self.day), keepFree: 256 << 20)
    }

    private func usage(age: Int64, bytes: Int64 = 100 << 20) -> RetentionUsage {
        var usage = RetentionUsage()
        usage.records = 1000
        usage.usedBytes = bytes + RetentionUsage.emptyBytes
        usage.freeBytes = 100 << 30
        usage.recentRecords = 100
        usage.averageBytes = 1 << 20
        usage.portions = [
            .init(maxAge: .seconds(30 * Self.day), newest: now.advanced(by: .seconds(-age * Self.day)), records: 77)
        ]
        usage.largestUser = 1000
        return usage
    }

    @Test("The age comes first if it removes the oldest records before the size limit is reached")
    func age() {
        let reply = usage(age: 10).reply(settings(), now: now)
        #expect(reply.growth == 10 << 20)
        #expect(reply.rules.map(\.name) == ["max_age", "max_size", "keep_free"])
        #expect(reply.rules.map(\.at) == [now.advanced(by: .seconds(20 * Self.day)), nil, nil])
        #expect(reply.rules.first?.records == 77)
    }

    @Test("The size limit comes first if it is reached first, and names the user whose records it removes")
    func size() throws {
        var usage = usage(age: 1, bytes: 1000 << 20)
        usage.recentRecords = 12
        // 12 MiB a day, and 24 MiB are left.
        let reply = usage.reply(settings(), now: now)
        #expect(reply.rules.map(\.name) == ["max_size", "max_age", "keep_free"])
        #expect(reply.rules.first?.at == now.advanced(by: .seconds(2 * Self.day)))
        #expect(reply.rules.first?.uid == 1000)
        usage.usedBytes = 2 << 30
        #expect(usage.reply(settings(), now: now).rules.first?.at == now)
    }

    @Test("The disk is full when less than KeepFree= is left, counting free pages and the excess size of the WAL")
    func space() {
        var usage = usage(age: 1)
        (usage.freeBytes, usage.spareBytes) = (200 << 20, 100 << 20)
        // 44 MiB are left, and each day adds 10 MiB.
        let first = usage.reply(settings(), now: now).rules.first
        #expect(first?.name == "keep_free")
        #expect(first?.at == now.advanced(by: .milliseconds(4_400 * Self.day)))
        // A checkpoint frees 56 MiB, so 100 MiB are left.
        usage.excessWALBytes = 56 << 20
        let later = usage.reply(settings(), now: now).rules.first
        #expect(later?.name == "keep_free")
        #expect(later?.at == now.advanced(by: .seconds(10 * Self.day)))
        usage.excessWALBytes = .max
        #expect(usage.reply(settings(), now: now).rules.last?.at == nil)
        usage.freeBytes = nil
        #expect(usage.reply(settings(), now: now).rules.last?.at == nil)
    }

    @Test("A limit on space removes nothing as long as all records are in the open range")
    func fullWithOpenRange() {
        var usage = usage(age: 1, bytes: 2 << 30)
        usage.freeBytes = 100 << 20
        #expect(usage.reply(settings(), now: now).rules.prefix(2).map(\.at) == [now, now])
        (usage.largestUser, usage.portions) = (nil, [])
        #expect(usage.reply(settings(), now: now).rules.map(\.at) == [nil, nil, nil])
    }

    @Test("KeepFree= is expected to remove nothing if other files fill the disk")
    func otherFiles() {
        var usage = usage(age: 1)
        // 256 MiB are missing, and the database has 100 MiB of records.
        usage.freeBytes = 0
        let rule = usage.reply(settings(), now: now).rules.first { $0.name == "keep_free" }
        #expect(rule != nil && rule?.at == nil)
    }

    @Test("For a limit on space, no number of records is forecast, since other ranges are closed before it is reached")
    func unknownNumber() {
        var usage = usage(age: 1)
        (usage.usedBytes, usage.freeBytes) = (2 << 30, 0)
        let rules = usage.reply(settings(), now: now).rules.filter { $0.name != "max_age" }
        #expect(rules.map(\.at) == [now, now])
        #expect(rules.map(\.uid) == [1000, 1000])
        #expect(rules.map(\.records) == [nil, nil])
    }

    @Test("Applications with an age of their own have a rule each, in the order of time")
    func applications() {
        var usage = usage(age: 10)
        usage.portions.append(
            .init(
                app: "shop", uid: 7, maxAge: .seconds(7 * Self.day), newest: now.advanced(by: .seconds(-8 * Self.day)),
                records: 5))
        let rules = usage.reply(settings(), now: now).rules
        #expect(rules.map(\.app) == ["shop", nil, nil, nil])
        #expect(rules.first?.at == now.advanced(by: .seconds(-Self.day)))
        #expect(rules.first?.uid == 7)
    }

    @Test("An application whose records are all in the open range has a rule without a time or a number")
    func openRange() {
        var usage = usage(age: 10)
        usage.portions.append(.init(app: "shop", uid: 7, maxAge: .seconds(7 * Self.day), newest: nil, records: 0))
        let rule = usage.reply(settings(), now: now).rules.first { $0.app == "shop" }
        #expect(rule?.age == .seconds(7 * Self.day))
        #expect(rule?.at == nil && rule?.records == nil)
    }

    @Test("Without closed ranges or records, no rule has a time, and no growth is forecast")
    func empty() {
        let reply = RetentionUsage().reply(settings(), now: now)
        #expect(reply.growth == nil)
        #expect(reply.rules.map(\.name) == ["max_age", "max_size", "keep_free"])
        #expect(reply.rules.allSatisfy { $0.at == nil && $0.records == nil })
        // A few records in a new database say nothing about the limit on its size if they become too old before it is
        // reached.
        var new = RetentionUsage()
        (new.records, new.recentRecords, new.usedBytes, new.oldest) = (6, 6, 500 << 10, now)
        new.averageBytes = 100
        #expect(new.growth == 360)
        #expect(new.reply(settings(), now: now).rules.allSatisfy { $0.at == nil })
    }

    @Test("For a store younger than six hours, or without closed ranges, no growth is forecast")
    func young() {
        var usage = usage(age: 0)
        usage.period = .seconds(6 * 3600)
        #expect(usage.growth == 40 << 20)
        usage.period = .seconds(6 * 3600 - 1)
        #expect(usage.growth == nil)
        usage.period = .seconds(Self.day)
        usage.averageBytes = nil
        #expect(usage.growth == nil)
        #expect(usage.reply(settings(), now: now).rules.filter { $0.name != "max_age" }.allSatisfy { $0.at == nil })
    }

    @Test("Without new records nothing is added, and a limit on space is not reached")
    func idle() {
        var usage = usage(age: 1)
        usage.recentRecords = 0
        #expect(usage.growth == 0)
        #expect(usage.reply(settings(), now: now).rules.filter { $0.name != "max_age" }.allSatisfy { $0.at == nil })
    }

    @Test("After MaxSize= was lowered, what removed records leave behind does not count as the size of new ones")
    func lowered() {
        var usage = usage(age: 1, bytes: 1 << 30)
        (usage.records, usage.recentRecords, usage.averageBytes) = (10, 1_000_000, 200)
        #expect(usage.growth == 200_000_000)
    }
}
