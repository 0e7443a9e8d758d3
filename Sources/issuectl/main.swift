import IssueCommands

IssueControl.runProcess(Array(CommandLine.arguments.dropFirst()))
