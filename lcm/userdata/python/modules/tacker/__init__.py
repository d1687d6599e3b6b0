"""What user data classes of VNF packages import by this name, made for this VNF manager."""
