"""Commands that open screens: here, in a browser, or in a demo."""
