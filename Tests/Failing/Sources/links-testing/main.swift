import Issues
import Testing

// A program that links a test library but runs no tests, like one that links a package with test helpers.
let test = Test.current
reportIssue("text from production")
flushIssues(timeout: .seconds(20))
print(isTesting, test == nil)
