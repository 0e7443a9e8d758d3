import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Deployments on disk")
struct DeploymentTests {
    private func record(_ version: String?, build: Int64? = nil, app: String = "shop") -> IssueRecord {
        IssueRecord(message: "Broken", app: Application(name: app, version: version, build: build))
    }

    private func deployments(
        _ store: TemporaryStore, app: String? = nil, viewer: Viewer = .everything
    ) throws -> [IssueDeployment] {
        var found: [IssueDeployment] = []
        var after: String?
        repeat {
            let page = try store.reader().deployments(app: app, limit: 2, after: after, viewer: viewer)
            found += page.deployments
            after = page.next
        } while after != nil
        return found
    }

    @discardableResult
    private func declare(
        _ version: String, app: String = "shop", at: IssueTimestamp? = nil, of scope: DeploymentScope = .user(1000),
        _ store: TemporaryStore, _ writer: StoreWriter
    ) throws -> Bool {
        store.pass(.seconds(1))
        let parameters = DeployParameters(app: app, version: version, at: at, commit: "c0ffee", note: "A note")
        return try !writer.declare(parameters, of: scope, by: 0, at: store.wall).isKnown
    }

    @Test("Declared deployments are listed latest first, with their commit, note and author")
    func declared() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let early = store.wall.advanced(by: .seconds(-3600))
            try declare("1.0", store, writer)
            let declaredAt = store.wall
            try declare("0.9", at: early, store, writer)
            try declare("7", app: "backup", of: .everyone, store, writer)
            let found = try deployments(store)
            #expect(found.map(\.version) == ["7", "1.0", "0.9"])
            #expect(
                found[1]
                    == IssueDeployment(
                        app: "shop", user: 1000, version: "1.0", deployedAt: declaredAt, commit: "c0ffee",
                        note: "A note", author: 0))
            #expect(found[2].deployedAt == early)
            #expect(try deployments(store, app: "backup").map(\.user) == [nil])
        }
    }

    @Test("Removing a deployment keeps the states that it has decided and the time when its version was first seen")
    func removed() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("1.0")], to: writer)
            let firstSeen = try #require(try deployments(store).first).deployedAt
            let group = try #require(
                try store.reader().groups(
                    .init(filter: IssueFilter(), order: .oldest, limit: 9, after: nil, sparkline: nil, now: store.wall),
                    viewer: .everything
                ).groups.first)
            let id = try store.reader().group(withOwnID: group.id, viewer: .everything)
            try declare("1.0", store, writer)
            try declare("2.0", store, writer)
            try declare("1.0", store, writer)
            #expect(try writer.set(TriageState(.resolved, fixedIn: ApplicationVersion(text: "2.0")), ofGroup: id))
            let version = ApplicationVersion(text: "1.0")
            #expect(try writer.removeDeployment(of: version, app: "shop", .everyone) == nil)
            #expect(try writer.removeDeployment(of: version, app: "other", .user(1000)) == nil)
            let latest = store.wall
            #expect(try writer.removeDeployment(of: version, app: "shop", .user(1000))?.deployedAt == latest)
            #expect(try deployments(store).map(\.version) == ["2.0", "1.0"])
            #expect(try writer.removeDeployment(of: version, app: "shop", .user(1000)) != nil)
            let left = try deployments(store)
            #expect(left.map(\.version) == ["2.0", "1.0"])
            #expect(left[1].isObserved && left[1].deployedAt == firstSeen)
            #expect(try writer.removeDeployment(of: version, app: "shop", .user(1000)) == nil)
            #expect(try store.reader().show(group.id, viewer: .everything).group.state == .resolved)
            // The version is known, so that a further report does not make it a new one.
            try store.store([record("1.0", build: 7)], to: writer)
            #expect(try deployments(store).map(\.version).last == "1.0")
        }
    }

    @Test("A deployment of the version that is in use is not stored again, but a rollback is")
    func again() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            #expect(try declare("1.0", store, writer))
            #expect(try !declare("1.0", store, writer))
            #expect(try !declare("v1.0", store, writer))
            #expect(try declare("1.1", store, writer))
            #expect(try declare("1.0", store, writer))
            // Another user's application of the same name has deployments of its own.
            #expect(try declare("1.0", of: .user(7), store, writer))
            #expect(try deployments(store, viewer: .user(1000)).map(\.version) == ["1.0", "1.1", "1.0"])
        }
    }

    @Test("The first report of a version makes an observed deployment at the time of receipt, whatever time it claims")
    func observed() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                var forged = record("1.0")
                forged.occurredAt = IssueTimestamp(millisecondsSince1970: 0)
                try store.store([forged, record("1.0", build: 7), record(nil), record("1.0")], to: writer)
            }
            let first = store.wall
            // After a restart, the version is still known.
            let writer = try store.writer()
            try store.store([IssueRecord(message: "Else", app: Application(name: "shop", version: "1.0"))], to: writer)
            try store.store([record("1.1")], to: writer)
            let found = try deployments(store)
            #expect(found.map(\.version) == ["1.1", "1.0 (7)", "1.0"])
            #expect(found.map(\.deployedAt) == [store.wall, first, first])
            #expect(found.allSatisfy { $0.isObserved && $0.author == nil && $0.user == 1000 })
        }
    }

    @Test("A declared deployment takes the place of an observed one, and later reports make none")
    func declaredAfterReport() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("1.0", build: 7), record("1.0"), record("1.1")], to: writer)
            try declare("1.0", of: .everyone, store, writer)
            #expect(try deployments(store).map(\.version) == ["1.0", "1.1"])
            try store.store([record("1.0", build: 8)], to: writer)
            #expect(try deployments(store).map(\.isObserved) == [false, true])
        }
    }

    @Test("The number of deployments is limited, and the earliest ones are removed")
    func limits() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for number in 0..<DeploymentLimits.maxDeclared + 2 { try declare("1.\(number)", store, writer) }
            let long = String(repeating: "1", count: IssueDeployment.maxVersionBytes + 1)
            for number in 0..<DeploymentLimits.maxObserved + 3 {
                try store.store([record("2.\(number)"), record(long)], to: writer)
            }
            try declare("1.0", of: .user(7), store, writer)
            let found = try deployments(store, viewer: .user(1000))
            let declared = found.filter { !$0.isObserved }
            #expect(declared.count == DeploymentLimits.maxDeclared)
            #expect(declared.last?.version == "1.2")
            #expect(found.filter(\.isObserved).map(\.version).last == "2.3")
            #expect(found.count == DeploymentLimits.maxDeclared + DeploymentLimits.maxObserved)
            #expect(try deployments(store, viewer: .user(7)).map(\.version) == ["1.0"])
        }
    }

    @Test("Users see their own deployments and, if they use the application, those for all users without details")
    func viewers() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try declare("1.0", of: .everyone, store, writer)
            try declare("1.1", store, writer)
            #expect(try deployments(store, viewer: .user(7)) == [])
            try store.store([record(nil)], from: .of(uid: 7), to: writer)
            let seen = try deployments(store, viewer: .user(7))
            #expect(seen.map(\.version) == ["1.0"])
            #expect(seen.allSatisfy { $0.commit == nil && $0.note == nil && $0.author == nil })
            #expect(try deployments(store, viewer: .user(1000)).first?.commit == "c0ffee")
            #expect(try deployments(store, viewer: .nothing) == [])
        }
    }

    @Test("A file of the version before deployments gets an observed deployment for each known version")
    func migration() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store(
                    [record("1.0"), record("1.0", build: 7), record(nil, build: 8), record(nil)], to: writer)
                try store.store([record("1.1")], to: writer)
            }
            let before = try deployments(store)
            #expect(before.map(\.version).sorted() == ["(8)", "1.0", "1.0 (7)", "1.1"])
            try store.downgrade(to: 9)
            _ = try store.writer()
            let after = try deployments(store)
            #expect(Set(after.map(\.version)) == Set(before.map(\.version)))
            #expect(after.first == before.first)
            #expect(try store.shell().pragma("user_version") == Int64(Schema.migrator.newestVersion))
            try expectSound(store)
        }
    }

    @Test("A repair imports deployments once, and a copy has them")
    func salvage() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([record("1.0")], to: writer)
                try declare("1.1", store, writer)
                try declare("1.1", app: "backup", of: .everyone, store, writer)
            }
            let expected = Set(try deployments(store).map(\.version))
            let copy = try StoreCopy(of: store.path, to: store.path + ".copy")
            while try !copy.step() {}
            store.settings.path = store.path + ".new"
            let writer = try store.writer()
            let old = try SetAsideStore(path: store.path + ".copy", randomBits: 1)
            for _ in 0..<2 {
                try writer.importSalvaged(old.deployments()?.items ?? [])
                let found = try StoreReader(path: store.settings.path).deployments(
                    app: nil, limit: 9, after: nil, viewer: .everything
                ).deployments
                #expect(Set(found.map(\.version)) == expected)
                #expect(found.count == 3)
            }
            let older = try DatabaseConnection(path: store.path + ".copy")
            try older.execute("DROP TABLE deployments; PRAGMA user_version = 9")
            #expect(try SetAsideStore(path: store.path + ".copy", randomBits: 1).deployments() == nil)
        }
    }

    @Test("A repair reads the states of a file of the first schema version")
    func olderStates() throws {
        try TemporaryStore.with { store in
            do {
                let writer = try store.writer()
                try store.store([record("1.0")], to: writer)
                _ = try writer.set(TriageState(.resolved), ofGroup: 1)
            }
            try store.downgrade(to: 9)
            let old = try SetAsideStore(path: store.path, randomBits: 1)
            #expect(old.notes()?.items.map(\.standing) == [TriageState(.resolved)])
        }
    }

    @Test("A filter selects groups that are new or gone since the last deployment, in closed and open ranges")
    func changes() throws {
        for closes in [false, true] {
            try TemporaryStore.with { store in
                let writer = try store.writer()
                func report(_ messages: String..., app: String = "shop", uid: UInt32 = 1000) throws {
                    let records = messages.map { IssueRecord(message: $0, app: Application(name: app, version: "9")) }
                    try store.store(records, from: .of(uid: uid), to: writer)
                    if closes { try writer.closeOpenRange() }
                }
                func titles(
                    _ change: DeploymentChange, apps: [String]? = nil, viewer: Viewer = .everything
                ) throws -> [String] {
                    var filter = IssueFilter(apps: apps)
                    filter.sinceDeployment = change
                    let page = try store.reader().groups(
                        .init(filter: filter, order: .newest, limit: 9, after: nil, sparkline: nil, now: store.wall),
                        viewer: viewer)
                    return page.groups.map(\.title).sorted()
                }
                try report("ancient", "lasting")
                try declare("1.0", store, writer)
                try report("ending", "lasting")
                try report("elsewhere", app: "backup")
                try report("another user's", uid: 7)
                #expect(try titles(.gone) == ["ancient"])
                try declare("1.1", of: .everyone, store, writer)
                try report("beginning", "lasting")
                try report("another user's new one", uid: 7)
                #expect(try titles(.new) == ["another user's new one", "beginning"])
                #expect(try titles(.gone) == ["another user's", "ending"])
                #expect(try titles(.new, viewer: .user(1000)) == ["beginning"])
                #expect(try titles(.new, apps: ["backup"]) == [])
                var filter = IssueFilter(text: "ending")
                filter.sinceDeployment = .gone
                let frame = try HistogramFrame(
                    bucket: .seconds(3600), since: nil, until: nil, now: store.wall.advanced(by: .seconds(60)))
                let counts = try store.reader().histogram(filter, frame, by: .total, viewer: .everything)
                #expect(counts.map(\.sum) == [1])
            }
        }
    }

    @Test("Single records can't be selected by deployments, so that no purge erases more than was meant")
    func noRecords() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("1.0")], to: writer)
            try declare("1.1", store, writer)
            var filter = IssueFilter(apps: ["shop"])
            filter.sinceDeployment = .new
            let reader = try store.reader()
            #expect(throws: QueryFailure.self) {
                try reader.rows(filter, above: 0, through: 1, limit: 9)
            }
            #expect(throws: QueryFailure.self) {
                try reader.records(
                    .init(filter: filter, isAscending: true, limit: 9, after: nil), viewer: .everything)
            }
        }
    }

    @Test("A histogram has the declared deployments of its period and of the applications and users that it selects")
    func histogram() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let start = store.wall
            try declare("0.9", at: start.advanced(by: .seconds(-7200)), store, writer)
            try declare("1.0", store, writer)
            try declare("7", app: "backup", of: .everyone, store, writer)
            try declare("1.1", of: .user(7), store, writer)
            try store.store([record("1.2")], to: writer)
            let frame = try HistogramFrame(
                bucket: .seconds(60), since: start, until: nil, now: store.wall.advanced(by: .seconds(60)))
            func versions(_ filter: IssueFilter = IssueFilter(), _ viewer: Viewer = .everything) throws -> [String] {
                try store.reader().deployments(in: frame, filter, viewer: viewer).map(\.version)
            }
            #expect(try versions() == ["1.0", "7", "1.1"])
            #expect(try versions(IssueFilter(apps: ["shop"])) == ["1.0", "1.1"])
            var filter = IssueFilter()
            filter.users = [7]
            #expect(try versions(filter) == ["7", "1.1"])
            #expect(try versions(IssueFilter(), .user(1000)) == ["1.0"])
        }
    }

    @Test("A purge removes observed versions without records, and declared ones with their whole application or user")
    func purge() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("1.0"), record("1.1"), record("9", app: "backup")], to: writer)
            try declare("1.2", store, writer)
            try declare("10", app: "backup", of: .everyone, store, writer)
            try writer.closeOpenRange()
            let erased = try writer.erase([1, 3])
            try writer.finishErasing(erased.series.sorted(), isWhole: true)
            let unreported = try store.reader().unreportedDeployments()
            var filter = IssueFilter(apps: ["shop"])
            filter.versions = ["1.0"]
            try writer.eraseDeployments(unreported, filter)
            #expect(Set(try deployments(store).map(\.version)) == ["1.1", "1.2", "10"])
            filter = IssueFilter()
            filter.users = [1000]
            try writer.eraseDeployments([], filter)
            #expect(Set(try deployments(store).map(\.version)) == ["1.1", "10"])
            try writer.eraseDeployments([], IssueFilter(apps: ["backup"]))
            #expect(try deployments(store).map(\.version) == ["1.1"])
        }
    }

    @Test("Observed deployments are removed with their account; declared ones stay")
    func retention() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([record("1.0"), record("2", app: "backup")], to: writer)
            try declare("1.1", store, writer)
            try store.shell().execute(
                "PRAGMA foreign_keys = OFF; UPDATE accounts SET app = 'other' WHERE app = 'shop'")
            while try writer.collectOwners() {}
            #expect(Set(try deployments(store).map(\.version)) == ["2", "1.1"])
        }
    }
}
