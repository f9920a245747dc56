"""What everything stands on: errors, settings, checks of inputs, devices."""
