print("Hello")
if CommandLine.arguments.count > 100 { print("Too many arguments") }
