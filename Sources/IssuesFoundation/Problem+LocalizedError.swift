public import Foundation
public import Issues

extension Problem: LocalizedError {}
