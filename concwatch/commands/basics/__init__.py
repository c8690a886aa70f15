"""What commands share: options and settings, what they print, and how they exit."""
