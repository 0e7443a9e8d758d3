package import IssueCore

extension ClickHouseFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "ClickHouse does not accept the user or the password: check User= and the credential. A file is read again; "
                + "systemd's needs a restart."
        case .forbidden: "ClickHouse refuses this user: let the one of User= insert into the table."
        case .notFound:
            "There is no such database, table or column, or no ClickHouse: run config/clickhouse/schema.sql, or check "
                + "Database=, Table= and URL=."
        case .methodNotAllowed: "Nothing can be written there: the table or the user may only read, or check URL=."
        case .manyLinesRefused:
            "ClickHouse refuses most rows: look at its answer. Is the table as config/clickhouse/schema.sql makes it?"
        case .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}
