// `hello` with one task-local value, which is enough to link the runtime of Swift concurrency.
enum Arguments {
    @TaskLocal static var limit = 100
}

print("Hello")
if CommandLine.arguments.count > Arguments.limit { print("Too many arguments") }
