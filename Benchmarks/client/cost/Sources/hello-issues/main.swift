import Issues

print("Hello")
// Never true. The compiler cannot know that and must keep the call.
if CommandLine.arguments.count > 100 {
    reportIssue("Too many arguments", level: .warning, metadata: ["arguments": 100])
}
