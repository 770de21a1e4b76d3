"""Files from elsewhere: downloads and wheels, checked. Knows neither datasets nor models."""
