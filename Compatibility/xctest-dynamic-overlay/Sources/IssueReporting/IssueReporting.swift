@_exported import Issues
