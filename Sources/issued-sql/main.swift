import IssueCommands

IssueControl.runProcess(Array(CommandLine.arguments.dropFirst())) { (path) throws(CommandFailure) in
    try StoreQueries(path: path)
}
