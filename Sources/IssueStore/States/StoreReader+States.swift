package import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A group of which somebody wants to say something.
    package struct Subject: Equatable, Sendable {
        package var group: Int64
        package var uid: UInt32
        var account: Int64
    }

    /// A group by its id; a foreign one answers as an absent one.
    package func subject(_ id: String, viewer: Viewer) throws -> Subject {
        try snapshot {
            guard let key = GroupID.key(id), let group = try group(key: key, viewer: viewer) else {
                throw QueryFailure.notFound(id: id)
            }
            let owner = try connection.withStatement(
                "SELECT accounts.id, uid FROM groups JOIN accounts ON accounts.id = groups.account WHERE groups.id = ?1"
            ) { statement in
                statement.bind(group, at: 1)
                return try statement.first { (account: $0.int64(0), uid: UInt32(clamping: $0.int64(1))) }
            }
            guard let owner else { throw QueryFailure.notFound(id: id) }
            return Subject(group: group, uid: owner.uid, account: owner.account)
        }
    }

    /// The newest version that a group's application has reported with, as far as that is still known.
    package func newestVersion(of subject: Subject) throws -> ApplicationVersion {
        try snapshot {
            var newest = ApplicationVersion()
            try connection.withStatement(
                "SELECT version, build FROM series WHERE account = ?1 GROUP BY version, build ORDER BY min(id)"
            ) { statement in
                statement.bind(subject.account, at: 1)
                try statement.forEach { row in
                    newest.met(ApplicationVersion(name: row.optionalText(0), build: row.optionalInt64(1)))
                }
            }
            return newest
        }
    }

    /// Whether it was this record with which its group came back last.
    package func isRegression(row: Int64) throws -> Bool {
        try snapshot {
            try connection.withStatement(
                """
                SELECT 1 FROM records JOIN series ON series.id = records.series JOIN groups ON groups.id = series."group"
                WHERE records.id = ?1 AND groups.regression = ?1
                """
            ) { statement in
                statement.bind(row, at: 1)
                return try statement.first { _ in true } ?? false
            }
        }
    }

    /// Which rows of a group are told to nobody.
    func mutes(ofGroup id: Int64) throws -> MutedRows {
        let stretches = try connection.withStatement(
            #"SELECT first_id, coalesce(last_id, ?2) FROM mutes WHERE "group" = ?1 ORDER BY first_id"#
        ) { statement in
            statement.bind(id, at: 1)
            statement.bind(Int64.max, at: 2)
            return try statement.all { $0.int64(0)...max($0.int64(0), $0.int64(1)) }
        }
        return MutedRows(stretches)
    }
}
