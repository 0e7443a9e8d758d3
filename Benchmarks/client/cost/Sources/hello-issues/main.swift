import Issues

print("Hello")
// Never here; a call that the compiler can't leave out.
if CommandLine.arguments.count > 100 { reportIssue("Too many words", level: .warning, metadata: ["words": 100]) }
