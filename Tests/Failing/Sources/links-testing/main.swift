import Issues
import Testing

// A program that runs no tests, and has the library for them all the same: as one that links a package with helpers for
// tests.
let test = Test.current
reportIssue("text from production")
flushIssues(timeout: .seconds(20))
print(isTesting, test == nil)
