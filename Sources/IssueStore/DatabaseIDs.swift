import IssueCore
import SQLiteKit

// IssueCore knows no database, and SQLiteKit none of our tables.
extension RowID: DatabaseID {}
