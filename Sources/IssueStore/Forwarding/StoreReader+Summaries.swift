package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// What a summary says of its group, or of the application when it speaks for several.
    package struct SummarySubject: Sendable {
        package var fingerprint: String?
        package var title: String
        package var domain: String?
        package var code: Int64?
        package var application: Application
        package var app: String
        package var sampleIDs: [String]
    }

    package func subject(of draft: SummaryDraft) throws -> SummarySubject {
        try snapshot {
            let app = try connection.withStatement("SELECT app FROM accounts WHERE id = ?1") { statement in
                statement.bind(draft.account, at: 1)
                return try statement.first { $0.text(0) } ?? ""
            }
            var subject = SummarySubject(
                fingerprint: nil, title: "issues of \(app)", application: Application(name: app), app: app,
                sampleIDs: try draft.samples.map { try recordID(row: $0).text })
            guard let group = draft.group else { return subject }
            try connection.withStatement(
                """
                SELECT groups.fingerprint, groups.title, groups.domain, groups.code, series.key
                FROM groups JOIN series ON series."group" = groups.id
                WHERE groups.id = ?1 ORDER BY series.id DESC LIMIT 1
                """
            ) { statement in
                statement.bind(group, at: 1)
                try statement.forEach { row in
                    subject.fingerprint = row.text(0)
                    subject.title = row.text(1)
                    subject.domain = row.optionalText(2)
                    subject.code = row.optionalInt64(3)
                    if let series = SeriesKey.decode(row.bytes(4)) { subject.application = series.app }
                }
            }
            return subject
        }
    }

    /// The wall time of a moment of the log, by the offset that holds now.
    package func logOffset() throws -> Int64 {
        try snapshot {
            try connection.withStatement("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1") {
                try $0.first { $0.int64(0) } ?? 0
            }
        }
    }
}
