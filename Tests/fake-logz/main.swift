// A program that responds like Logz.io, for scripts/run and for tests of whole processes.

import FakeLogz

FakeLogzCommand(arguments: Array(CommandLine.arguments.dropFirst())).main()
