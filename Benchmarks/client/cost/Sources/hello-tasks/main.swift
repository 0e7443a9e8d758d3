// The same, with one value that belongs to a task: all that it takes to have Swift's concurrency linked.
enum Words {
    @TaskLocal static var limit = 100
}

print("Hello")
if CommandLine.arguments.count > Words.limit { print("Too many words") }
